/** The shared files of groups. */
import { elements, indent, parseXml } from '../../data/xml.ts'
import { digest, filesOf } from '../../group-files.ts'
import { AGENT_SECTIONS, parseConf } from '../../handlers/group-config.ts'
import { parseRootkitFiles, parseRootkitTrojans } from '../../handlers/group-texts.ts'
import { type Answer, affected } from '../answers.ts'
import { collectRows, cut, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import { isTrue } from '../parameters.ts'
import { repr } from '../python.ts'
import { hasRelease5 } from '../releases.ts'
import { requireGroup } from './group-members.ts'

const CONF = 'agent.conf'

const fileTable: Table = { kind: 'list', fields: ['filename', 'hash'], order: '+filename' }

function files({ world, params, query }: Asked) {
  const id = params.group_id ?? ''
  const group = world.groups.get(id)
  if (group === undefined) return affected([], { failed: [{ id, error: new V4Error(1710) }] })
  const rows = [...filesOf(group)].map(([filename, content]) => ({ filename, hash: digest(content, query.hash) }))
  const { items, total } = collectRows(rows, fileTable, query, world.now())
  return affected(items, { total })
}

function confOf(content: string) {
  const items = parseConf(content).map(({ filters, config }) => ({ filters, config: v4Sections(config) }))
  return { total_affected_items: items.length, affected_items: items }
}

/** Labels are a list, and each has its text as `value`. */
function v4Sections({ labels, ...sections }: Readonly<Record<string, unknown>>) {
  if (!Array.isArray(labels)) return sections
  const v4 = labels.map(({ label }: { label?: unknown }) => {
    const list = Array.isArray(label) ? label : label === undefined ? [] : [label]
    return { label: list.map(({ item, ...attributes }) => ({ value: item, ...attributes })) }
  })
  return { ...sections, labels: v4 }
}

/** Page parameters have no effect. */
function configuration(asked: Asked) {
  const group = requireGroup(asked, asked.params.group_id ?? '')
  const { affected_items: items, ...rest } = confOf(group.files.get(CONF) ?? '')
  return { kind: 'data', data: { ...rest, affected_items: cut(items, asked.query) } } as const
}

/** Lines of another form are left out. */
function rootkitFilesOf(content: string) {
  return parseRootkitFiles(
    content
      .split('\n')
      .filter((line) => /!.*::/.test(line))
      .join('\n'),
  )
}

function trojansOf(content: string) {
  return parseRootkitTrojans(content).map(({ description, ...rest }) => {
    return description === '' ? rest : { ...rest, description }
  })
}

/** A control is preceded by an empty one; requirements in its name are fields of it. */
function testsOf(content: string) {
  const vars: Record<string, string> = {}
  const controls: Record<string, unknown>[] = [{}]
  for (const line of content.split('\n').filter((one) => one.trim() !== '' && !one.trimStart().startsWith('#'))) {
    const [, variable, value] = /^\$([A-Za-z0-9_]+)=(.*)$/.exec(line) ?? []
    const [, name, condition, reference] = /^\[([^\]]*)\] *\[([^\]]*)\] *\[([^\]]*)\]/.exec(line) ?? []
    if (variable !== undefined) vars[variable] = value ?? ''
    else if (name !== undefined) controls.push(controlOf(name, condition ?? '', reference ?? ''))
    else (controls.at(-1)?.checks as string[] | undefined)?.push(line.trim())
  }
  return { vars, controls }
}

function controlOf(name: string, condition: string, reference: string) {
  const named = (standard: string) => new RegExp(`\\{?${standard}: ([^}\\]]*)\\}?`).exec(name)?.[1]
  const [cis, pci] = [named('CIS'), named('PCI_DSS')]
  return {
    name: name.replace(/ *-? *\{?(?:CIS|PCI_DSS): .*$/, ''),
    cis: cis === undefined ? [] : [cis.trim()],
    pci: pci === undefined ? [] : [pci.trim()],
    condition,
    ...(reference === '' ? {} : { reference }),
    checks: [] as string[],
  }
}

const parsers: Readonly<Record<string, (content: string) => unknown>> = {
  conf: confOf,
  rootkit_files: rootkitFilesOf,
  rootkit_trojans: trojansOf,
  rcl: testsOf,
}

const byName: Readonly<Record<string, (content: string) => unknown>> = {
  [CONF]: confOf,
  'rootkit_files.txt': rootkitFilesOf,
  'rootkit_trojans.txt': trojansOf,
  'ar.conf': (content) => content.split('\n').filter((line) => line !== ''),
}

function readFile(asked: Asked): { name: string; content: string; parse: (content: string) => unknown } {
  const { params, query } = asked
  const name = params.file_name ?? ''
  const group = requireGroup(asked, params.group_id ?? '')
  const content = filesOf(group).get(name)
  if (content === undefined) throw new V4Error(1006, `/var/ossec/etc/shared/${group.name}/${name}`)
  const parse = (query.type === undefined ? byName[name] : parsers[query.type.split(',')[0] ?? '']) ?? testsOf
  return { name, content, parse }
}

function asJson(asked: Asked): Answer {
  const { content, parse } = readFile(asked)
  return { kind: 'data', data: parse(content) }
}

/** Only agent.conf is XML; other files are written as values of the API's language, with the type of XML. */
function asXml(asked: Asked): Answer {
  const { name, content, parse } = readFile(asked)
  const isConf = name === CONF && (asked.query.type ?? 'conf') === 'conf'
  return { kind: 'file', type: 'application/xml', text: isConf ? content : repr(parse(content)) }
}

function asText(asked: Asked): Answer {
  const { name, content } = readFile(asked)
  const isXml = hasRelease5(asked) && name === CONF
  return { kind: 'file', type: isXml ? 'application/xml' : 'text/plain', text: content }
}

/** Text without any element is accepted. */
function upload(asked: Asked): Answer {
  const { text: content } = asked
  if (content === '') throw new V4Error(2007, '', { inApi: true })
  const group = requireGroup(asked, asked.params.group_id ?? '')
  const nodes = parsed(content)
  for (const block of elements(nodes)) {
    const unknown =
      block.name === 'agent_config' ? elements(block.children).find(({ name }) => !AGENT_SECTIONS.has(name)) : block
    if (unknown === undefined) continue
    throw new V4Error(1114, `Invalid element in the configuration: '${unknown.name}'. Configuration error.`)
  }
  group.files.set(CONF, indent(nodes))
  return { kind: 'text', message: 'Agent configuration was successfully updated' }
}

function parsed(content: string) {
  try {
    return parseXml(content)
  } catch (fault) {
    throw new V4Error(1113, fault instanceof Error ? fault.message : '')
  }
}

const reads = { action: 'group:read', type: 'group:id', named: { in: 'path', as: 'group_id' } } as const

export const groupFileCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/groups/{group_id}/files',
    runs: 'master',
    needs: [reads],
    texts: {
      all: 'All selected groups files were returned',
      some: 'Some groups files were not returned',
      none: 'No groups files were returned',
    },
    run: files,
  },
  {
    method: 'GET',
    path: '/groups/{group_id}/configuration',
    runs: 'master',
    needs: [reads],
    texts: NO_TEXTS,
    run: configuration,
  },
  {
    method: 'PUT',
    path: '/groups/{group_id}/configuration',
    runs: 'master',
    needs: [{ action: 'group:update_config', type: 'group:id', named: { in: 'path', as: 'group_id' } }],
    texts: NO_TEXTS,
    run: upload,
  },
  ...(['json', 'xml'] as const).map(
    (format): Call => ({
      method: 'GET',
      path: `/groups/{group_id}/files/{file_name}/${format}`,
      runs: 'master',
      needs: [reads],
      texts: NO_TEXTS,
      run: format === 'json' ? asJson : asXml,
    }),
  ),
  {
    method: 'GET',
    path: '/groups/{group_id}/files/{file_name}',
    runs: 'master',
    needs: [reads],
    texts: NO_TEXTS,
    run: (asked) => (isTrue(asked.query.raw) ? asText(asked) : asJson(asked)),
  },
]
