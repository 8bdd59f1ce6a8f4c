/** Generates the texts of rule files from families and events: the initial `ruleset/rules` and `etc/rules`. */
import { type Event, events } from './events.ts'
import { type Family, families } from './families.ts'
import { randomFor } from './random.ts'

const CATEGORIES = ['syslog', 'firewall', 'ids', 'web-log', 'squid', 'windows', 'ossec']

/** File path → text. */
export function ruleFiles(seed: number): Map<string, string> {
  const files = new Map([['ruleset/rules/0010-rules_config.xml', templates()]])
  for (const family of families) {
    files.set(`ruleset/rules/${family.number}-${family.name}_rules.xml`, familyFile(seed, family))
  }
  return files.set('etc/rules/local_rules.xml', LOCAL)
}

/** The root rules; their ids have a leading zero, as in the manager. */
function templates(): string {
  const groups = CATEGORIES.map(
    (category, index) => `<group name="${category},">
  <rule id="0${index + 1}" level="0" noalert="1">
    <category>${category}</category>
    <description>Generic template for all ${category} rules.</description>
  </rule>
</group>
`,
  )
  return `<!-- Templates of all rules -->\n\n${groups.join('\n')}`
}

function familyFile(seed: number, family: Family): string {
  const random = randomFor(seed, 'rules', family.name)
  const rules = [groupingRule(family)]
  let id = family.base
  for (const theme of family.themes) {
    for (const event of events[theme]) {
      const before = id
      // Ids of real files have gaps.
      id += random.chance(0.15) ? 2 : 1
      rules.push(rule(family, event, id, before))
    }
  }
  // Files are not in the order of ids, so rows that a sort leaves open are not either.
  return `<!-- Rules for ${family.name} -->\n\n<group name="${family.groups},">\n${rules.reverse().join('\n')}</group>\n`
}

function groupingRule(family: Family): string {
  const known =
    family.program === undefined ? `<match>${family.name}</match>` : `<decoded_as>${family.program}</decoded_as>`
  return `  <rule id="${family.base}" level="0" noalert="1">
    ${known}
    <description>${family.name} messages grouped.</description>
  </rule>
`
}

function rule(family: Family, event: Event, id: number, before: number): string {
  const often = event.repeated
  const attributes = often === undefined ? '' : ` frequency="${often.times}" timeframe="${often.seconds}" ignore="60"`
  const condition =
    often === undefined
      ? `<if_sid>${family.base}</if_sid>\n    <match>${event.match}</match>`
      : `<if_matched_sid>${before}</if_matched_sid>\n    <same_source_ip />`
  const groups = event.groups === '' ? '' : `    <group>${event.groups},</group>\n`
  return `  <rule id="${id}" level="${event.level}"${attributes}>
    ${condition}
    <description>${family.name}: ${event.text}</description>
${groups}  </rule>
`
}

const LOCAL = `<!-- Local rules -->

<group name="local,syslog,sshd,">

  <!-- Failed none for root from 192.0.2.1 port 1066 ssh2 -->
  <rule id="100001" level="5">
    <if_sid>5702</if_sid>
    <srcip>192.0.2.1</srcip>
    <description>sshd: authentication failed from IP 192.0.2.1.</description>
    <group>authentication_failed,pci_dss_10.2.4,pci_dss_10.2.5,</group>
  </rule>

</group>
`
