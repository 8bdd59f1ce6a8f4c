/** The main configuration file of a node, `etc/ossec.conf`; its options are the product's. */

/** Who the node is in the cluster. */
export interface NodeIdentity {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly clusterKey: string
  /** Address of the master. */
  readonly master: string
}

/** The text, as the manager's installer would write it for this node. */
export function mainConfiguration(node: NodeIdentity): string {
  const isMaster = node.type === 'master'
  return [
    '<!-- Main configuration -->\n<ossec_config>',
    globalSettings(isMaster),
    scanners(),
    syscheck(),
    COMMANDS.map(command).join('\n'),
    LOCAL_FILES,
    RULESET,
    isMaster ? REGISTRATION : '',
    cluster(node),
    isMaster ? INTEGRATIONS : '',
    '</ossec_config>\n',
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function globalSettings(isMaster: boolean): string {
  return `  <global>
    <jsonout_output>yes</jsonout_output>
    <alerts_log>yes</alerts_log>
    <logall>no</logall>
    <logall_json>no</logall_json>
    <email_notification>${isMaster ? 'yes' : 'no'}</email_notification>
    <smtp_server>localhost</smtp_server>
    <email_from>manager@example.com</email_from>
    <email_to>operator@example.com</email_to>
    <email_maxperhour>12</email_maxperhour>
    <email_log_source>alerts.log</email_log_source>
    <white_list>127.0.0.1</white_list>
    <white_list>^localhost.localdomain$</white_list>
  </global>
  <alerts>
    <log_alert_level>3</log_alert_level>
    <email_alert_level>12</email_alert_level>
  </alerts>
  <remote>
    <connection>secure</connection>
    <port>1514</port>
    <protocol>udp</protocol>
    <queue_size>131072</queue_size>
  </remote>`
}

function scanners(): string {
  return `  <rootcheck>
    <disabled>no</disabled>
    <check_files>yes</check_files>
    <check_trojans>yes</check_trojans>
    <check_dev>yes</check_dev>
    <check_sys>yes</check_sys>
    <check_pids>yes</check_pids>
    <check_ports>yes</check_ports>
    <check_if>yes</check_if>
    <!-- Every 12 hours -->
    <frequency>43200</frequency>
    <rootkit_files>/var/ossec/etc/rootcheck/rootkit_files.txt</rootkit_files>
    <rootkit_trojans>/var/ossec/etc/rootcheck/rootkit_trojans.txt</rootkit_trojans>
    <skip_nfs>yes</skip_nfs>
  </rootcheck>
  <wodle name="open-scap">
    <disabled>yes</disabled>
    <timeout>1800</timeout>
    <interval>1d</interval>
    <scan-on-start>yes</scan-on-start>
  </wodle>
  <wodle name="cis-cat">
    <disabled>no</disabled>
    <timeout>1800</timeout>
    <interval>1d</interval>
    <scan-on-start>yes</scan-on-start>
    <java_path>wodles/java</java_path>
    <ciscat_path>wodles/ciscat</ciscat_path>
  </wodle>
  <wodle name="syscollector">
    <disabled>no</disabled>
    <interval>1h</interval>
    <scan_on_start>yes</scan_on_start>
    <hardware>yes</hardware>
    <os>yes</os>
    <network>yes</network>
    <packages>yes</packages>
    <ports all="no">yes</ports>
    <processes>yes</processes>
  </wodle>
  <sca>
    <enabled>yes</enabled>
    <scan_on_start>yes</scan_on_start>
    <interval>12h</interval>
    <skip_nfs>yes</skip_nfs>
    <policies>
      <policy>cis_debian9_L1.yml</policy>
      <policy>cis_debian9_L2.yml</policy>
    </policies>
  </sca>`
}

function syscheck(): string {
  const ignored = ['/etc/mtab', '/etc/hosts.deny', '/etc/random-seed', '/etc/adjtime', '/etc/cups/certs', '/dev/core']
  return `  <syscheck>
    <disabled>no</disabled>
    <frequency>43200</frequency>
    <scan_on_start>yes</scan_on_start>
    <alert_new_files>yes</alert_new_files>
    <auto_ignore frequency="10" timeframe="3600">no</auto_ignore>
    <directories check_all="yes">/etc,/usr/bin,/usr/sbin</directories>
    <directories check_all="yes">/bin,/sbin,/boot</directories>
${ignored.map((path) => `    <ignore>${path}</ignore>`).join('\n')}
    <ignore type="sregex">^/proc</ignore>
    <nodiff>/etc/ssl/private.key</nodiff>
    <skip_nfs>yes</skip_nfs>
  </syscheck>`
}

/** Commands of active responses; the field that each expects. */
export const COMMANDS: readonly (readonly [name: string, expect: string])[] = [
  ['disable-account', 'user'],
  ['restart-ossec', ''],
  ['firewall-drop', 'srcip'],
  ['host-deny', 'srcip'],
  ['route-null', 'srcip'],
]

function command([name, expect]: readonly [string, string]): string {
  const allowed = expect === '' ? '' : '\n    <timeout_allowed>yes</timeout_allowed>'
  return `  <command>
    <name>${name}</name>
    <executable>${name}.sh</executable>
    <expect>${expect}</expect>${allowed}
  </command>`
}

const LOCAL_FILES = `  <localfile>
    <log_format>syslog</log_format>
    <location>/var/ossec/logs/active-responses.log</location>
  </localfile>
  <localfile>
    <log_format>command</log_format>
    <command>df -P</command>
    <frequency>360</frequency>
  </localfile>`

const RULESET = `  <ruleset>
    <decoder_dir>ruleset/decoders</decoder_dir>
    <rule_dir>ruleset/rules</rule_dir>
    <rule_exclude>0215-policy_rules.xml</rule_exclude>
    <list>etc/lists/audit-keys</list>
    <list>etc/lists/amazon/aws-eventnames</list>
    <list>etc/lists/security-eventchannel</list>
    <decoder_dir>etc/decoders</decoder_dir>
    <rule_dir>etc/rules</rule_dir>
  </ruleset>`

const REGISTRATION = `  <auth>
    <disabled>no</disabled>
    <port>1515</port>
    <use_source_ip>yes</use_source_ip>
    <force_insert>yes</force_insert>
    <force_time>0</force_time>
    <purge>yes</purge>
    <use_password>no</use_password>
    <limit_maxagents>yes</limit_maxagents>
    <ssl_verify_host>no</ssl_verify_host>
    <ssl_manager_cert>/var/ossec/etc/sslmanager.cert</ssl_manager_cert>
    <ssl_manager_key>/var/ossec/etc/sslmanager.key</ssl_manager_key>
    <ssl_auto_negotiate>no</ssl_auto_negotiate>
  </auth>`

function cluster(node: NodeIdentity): string {
  return `  <cluster>
    <name>wazuh</name>
    <node_name>${node.name}</node_name>
    <node_type>${node.type}</node_type>
    <key>${node.clusterKey}</key>
    <port>1516</port>
    <bind_addr>0.0.0.0</bind_addr>
    <nodes>
      <node>${node.master}</node>
    </nodes>
    <hidden>no</hidden>
    <disabled>no</disabled>
  </cluster>`
}

const INTEGRATIONS = `  <email_alerts>
    <email_to>operator@example.com</email_to>
    <level>4</level>
    <do_not_delay/>
  </email_alerts>
  <integration>
    <name>virustotal</name>
    <api_key>not-a-real-key</api_key>
    <group>syscheck</group>
    <alert_format>json</alert_format>
  </integration>
  <syslog_output>
    <level>9</level>
    <server>192.0.2.24</server>
  </syslog_output>
  <active-response>
    <disabled>no</disabled>
    <command>host-deny</command>
    <location>local</location>
    <level>10</level>
    <timeout>600</timeout>
  </active-response>
  <agentless>
    <type>ssh_integrity_check_linux</type>
    <frequency>300</frequency>
    <host>admin@192.0.2.108</host>
    <state>periodic_diff</state>
    <arguments>/etc /usr/bin /usr/sbin</arguments>
  </agentless>`
