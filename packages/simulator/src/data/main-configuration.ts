/** The main configuration file of a node, `etc/ossec.conf`, with the product's options. */

import { fileScanner, scanners } from './scanner-configuration.ts'

/** The identity of the node in the cluster. */
export interface NodeIdentity {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly clusterKey: string
  /** The address of the master. */
  readonly master: string
  readonly isRelease5?: boolean
}

/** Returns the text that the manager's installer would write for this node. */
export function mainConfiguration(node: NodeIdentity): string {
  if (node.isRelease5) return configurationOf5(node)
  const isMaster = node.type === 'master'
  return [
    '<!-- Main configuration -->\n<ossec_config>',
    globalSettings(isMaster),
    scanners(),
    fileScanner(),
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

function configurationOf5({ name, type, clusterKey, master }: NodeIdentity): string {
  return `<wazuh_config>
  <global>
    <agents_disconnection_time>15m</agents_disconnection_time>
    <agents_disconnection_alert_time>0</agents_disconnection_alert_time>
  </global>
  <logging><log_format>plain</log_format></logging>
  <remote>
    <https><port>1517</port><bind_addr>0.0.0.0</bind_addr><certificate>etc/certs/remoted.pem</certificate><key>etc/certs/remoted-key.pem</key></https>
    <legacy><enabled>yes</enabled><port>1514</port><protocol>tcp</protocol><local_ip>0.0.0.0</local_ip></legacy>
    <agents><allow_higher_versions>no</allow_higher_versions></agents>
  </remote>
  <auth><disabled>no</disabled><port>1515</port><use_password>yes</use_password></auth>
  <cluster>
    <name>wazuh</name><node_name>${name}</node_name><node_type>${type}</node_type>
    <key>${clusterKey}</key><port>1516</port><bind_addr>0.0.0.0</bind_addr>
    <nodes><node>${master}</node></nodes><hidden>no</hidden>
  </cluster>
</wazuh_config>
`
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

/** Commands of active responses and the field that each expects. */
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
    <name>cluster</name>
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
