/** Texts of decoder files: a parent for each program, and children that read the fields of its lines. */

import type { Theme } from './events.ts'
import { type Family, families } from './families.ts'

interface Child {
  readonly name: string
  readonly prematch: string
  readonly regex: string
  readonly order: string
  readonly fts?: string
}

const children: Readonly<Record<Theme, readonly Child[]>> = {
  login: [
    {
      name: 'success',
      prematch: '^Accepted',
      regex: '^ \\S+ for (\\S+) from (\\S+) port ',
      order: 'user, srcip',
      fts: 'name, user, location',
    },
    {
      name: 'failed',
      prematch: '^Failed \\S+ for ',
      regex: '^(\\S+) from (\\S+) port (\\d+)',
      order: 'user, srcip, srcport',
    },
    { name: 'invalid-user', prematch: '^invalid user|^Illegal user', regex: ' from (\\S+)$', order: 'srcip' },
  ],
  network: [
    {
      name: 'connection',
      prematch: 'refused connection|DROP',
      regex: ' SRC=(\\S+) DST=(\\S+) ',
      order: 'srcip, dstip',
    },
    {
      name: 'ports',
      prematch: 'PROTO=',
      regex: 'PROTO=(\\w+) SPT=(\\d+) DPT=(\\d+)',
      order: 'protocol, srcport, dstport',
    },
  ],
  web: [
    {
      name: 'access',
      prematch: '^\\S+ \\S+ \\S+ [',
      regex: '^(\\S+) \\S+ \\S+ [\\S+ \\S+] "(\\w+) (\\S+) HTTP\\S+ (\\d+)',
      order: 'srcip, protocol, url, id',
    },
  ],
  service: [{ name: 'state', prematch: 'started|stopped', regex: '^(\\w+): ', order: 'status' }],
  integrity: [{ name: 'change', prematch: 'changed for: ', regex: "'(\\S+)'", order: 'extra_data' }],
  resources: [{ name: 'usage', prematch: 'No space left', regex: ' on (\\S+)$', order: 'extra_data' }],
}

/** File path → text. */
export function decoderFiles(): Map<string, string> {
  const files = new Map([['ruleset/decoders/0006-json_decoders.xml', JSON_LINES]])
  for (const family of families.filter(({ decoders }) => decoders)) {
    files.set(`ruleset/decoders/${family.number}-${family.name}_decoders.xml`, familyFile(family))
  }
  return files.set('etc/decoders/local_decoder.xml', LOCAL)
}

function familyFile(family: Family): string {
  const name = family.program ?? family.name
  const known =
    family.program === undefined
      ? `<prematch>^${family.name}: </prematch>`
      : `<program_name>^${family.program}</program_name>`
  const parent = `<decoder name="${name}">\n  ${known}\n</decoder>\n`
  const below = family.themes.flatMap((theme) => children[theme].map((child) => childDecoder(name, child)))
  return `<!-- Decoders for ${family.name} -->\n\n${[parent, ...below].join('\n')}`
}

function childDecoder(parent: string, child: Child): string {
  const fts = child.fts === undefined ? '' : `  <fts>${child.fts}</fts>\n`
  return `<decoder name="${parent}-${child.name}">
  <parent>${parent}</parent>
  <prematch>${child.prematch}</prematch>
  <regex offset="after_prematch">${child.regex}</regex>
  <order>${child.order}</order>
${fts}</decoder>
`
}

const JSON_LINES = `<!-- Lines in JSON -->

<decoder name="json">
  <prematch>^{\\s*"</prematch>
  <plugin_decoder>JSON_Decoder</plugin_decoder>
</decoder>
`

const LOCAL = `<!-- Local decoders -->

<decoder name="local_decoder_example">
  <program_name>local_decoder_example</program_name>
</decoder>
`
