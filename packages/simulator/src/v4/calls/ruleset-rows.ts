/** Rules and decoders, read from the files of the asked node. */
import { type Decoder, decodersOf, type Rule, type ruleFilesOf, rulesOf } from '../../data/ruleset.ts'
import { elements, parseXml } from '../../data/xml.ts'
import type { SimNode } from '../../model.ts'
import { affected } from '../answers.ts'
import { collectRows, collectTexts, type Item, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked } from '../model.ts'
import { membersOf } from '../parameters.ts'

/** Options of rules and decoders whose text is an object with its pattern. */
const PLAIN = new Set([
  ...['category', 'decoded_as', 'noalert', 'if_sid', 'if_matched_sid', 'if_group', 'if_matched_group', 'if_level'],
  ...['frequency', 'timeframe', 'ignore', 'maxsize', 'overwrite', 'same_source_ip', 'same_user', 'same_id', 'if_fts'],
  ...[
    'srcip',
    'dstip',
    'time',
    'weekday',
    'list',
    'options',
    'check_diff',
    'global_frequency',
    'info',
    'different_url',
  ],
  ...['parent', 'order', 'fts', 'ftscomment', 'plugin_decoder', 'use_own_name', 'var', 'accumulate', 'type'],
  ...['json_null_field', 'json_array_structure', 'not_same_source_ip', 'same_location'],
])

/** Several patterns of one option are one pattern without a separator. */
function v4Details(details: Item, attributesOf: (option: string) => Item): Item {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => {
      if (PLAIN.has(name)) return [name, value]
      const pattern = Array.isArray(value) ? value.join('') : String(value)
      return [name, { pattern, ...attributesOf(name) }]
    }),
  )
}

function v4Rule({ file, path, pci, 'nist-800-53': nist, details, ...rule }: Rule): Item {
  return {
    filename: file,
    relative_dirname: path,
    ...rule,
    details: v4Details(details, () => ({})),
    pci_dss: pci,
    nist_800_53: nist,
    tsc: [],
    mitre: [],
  }
}

/** Attributes of the options of a decoder, by its name and position. */
function attributesIn(node: SimNode, { path, file, position }: Decoder): (option: string) => Item {
  const decoder = elements(parseXml(node.files.get(`${path}/${file}`) ?? ''), 'decoder')[position]
  return (option) => elements(decoder?.children ?? [], option)[0]?.attributes ?? {}
}

const converted = new WeakMap<object, Item>()

function once<T extends object>(row: T, convert: (row: T) => Item): Item {
  const known = converted.get(row) ?? convert(row)
  converted.set(row, known)
  return known
}

function v4Decoder(decoder: Decoder, node: SimNode): Item {
  const { file, path, status, name, position, details } = decoder
  const shown = once(details, () => v4Details(details, attributesIn(node, decoder)))
  return { filename: file, relative_dirname: path, status, name, position, details: shown }
}

const ruleTable: Table = {
  kind: 'list',
  fields: [
    ...['filename', 'relative_dirname', 'id', 'level', 'status', 'details', 'pci_dss', 'gpg13', 'gdpr', 'hipaa'],
    ...['nist_800_53', 'tsc', 'mitre', 'groups', 'description'],
  ],
  sortable: ['level', 'status', 'id', 'description', 'filename', 'relative_dirname'],
  keys: ['id'],
  order: '+id',
}

const decoderTable: Table = {
  kind: 'list',
  fields: ['filename', 'relative_dirname', 'name', 'position', 'status', 'details'],
  sortable: ['status', 'position', 'relative_dirname', 'filename', 'name'],
  keys: ['filename', 'position'],
}

const fileTable: Table = {
  kind: 'list',
  fields: ['filename', 'relative_dirname', 'status'],
  sortable: ['filename', 'status', 'relative_dirname'],
  order: '+filename',
}

/** Requirements by name of the path, and the field of a rule. */
export const standards = {
  pci_dss: 'pci_dss',
  gdpr: 'gdpr',
  hipaa: 'hipaa',
  'nist-800-53': 'nist_800_53',
  gpg13: 'gpg13',
  tsc: 'tsc',
  mitre: 'mitre',
} as const

function allRules({ node, allowsNamed }: Asked): Item[] {
  return rulesOf(node.files)
    .filter(({ file }) => allowsNamed(file))
    .map(v4Rule)
}

function isBetween(level: unknown, range: string): boolean {
  const [from, to = from] = range.split('-').map(Number)
  return Number(level) >= (from ?? 0) && Number(level) <= (to ?? 0)
}

export function rules(asked: Asked) {
  const { query, world } = asked
  const ids = membersOf(query.rule_ids)?.map(Number)
  const { status, level, group, filename, relative_dirname: folder } = query
  const rows = allRules(asked).filter((rule) => {
    if (ids !== undefined && !ids.includes(Number(rule.id))) return false
    if (status !== undefined && status !== 'all' && rule.status !== status) return false
    if (level !== undefined && !isBetween(rule.level, level)) return false
    if (group !== undefined && !(rule.groups as readonly string[]).includes(group)) return false
    if (filename !== undefined && !filename.split(',').includes(String(rule.filename))) return false
    if ((folder ?? rule.relative_dirname) !== rule.relative_dirname) return false
    return Object.entries(standards).every(([name, field]) => {
      return query[name] === undefined || (rule[field] as readonly unknown[]).includes(query[name])
    })
  })
  const failed = (ids ?? []).filter((id) => !rows.some((rule) => rule.id === id))
  const { items, total } = collectRows(rows, ruleTable, query, world.now())
  return affected(items, { total, failed: failed.map((id) => ({ id, error: new V4Error(1208) })) })
}

export function valuesOf(field: string) {
  return (asked: Asked) => {
    const values = allRules(asked).flatMap((rule) => rule[field] as readonly string[])
    const { items, total } = collectTexts([...new Set(values)], asked.query)
    return affected(items, { total })
  }
}

export function requirement(asked: Asked) {
  const name = asked.params.requirement as keyof typeof standards
  return valuesOf(standards[name])(asked)
}

export function files(filesOf: typeof ruleFilesOf) {
  return ({ node, query, world, allowsNamed }: Asked) => {
    const { status, filename, relative_dirname: folder } = query
    const rows = filesOf(node.files)
      .filter(({ file, path, status: own }) => {
        if (!allowsNamed(file) || (status !== undefined && status !== 'all' && own !== status)) return false
        return (filename?.split(',').includes(file) ?? true) && (folder ?? path) === path
      })
      .map(({ file, path, status: own }) => ({ filename: file, relative_dirname: path, status: own }))
    const { items, total } = collectRows(rows, fileTable, query, world.now())
    return affected(items, { total })
  }
}

export function decoders(parentsOnly: boolean) {
  return ({ node, query, world, allowsNamed }: Asked) => {
    const { status, filename, relative_dirname: folder } = query
    const names = membersOf(query.decoder_names)
    const found = decodersOf(node.files).filter((decoder) => {
      if (!allowsNamed(decoder.file) || (parentsOnly && decoder.details.parent !== undefined)) return false
      if (names !== undefined && !names.includes(decoder.name)) return false
      if (status !== undefined && status !== 'all' && decoder.status !== status) return false
      return (filename?.split(',').includes(decoder.file) ?? true) && (folder ?? decoder.path) === decoder.path
    })
    const rows = found.map((decoder) => v4Decoder(decoder, node))
    const failed = (names ?? []).filter((name) => !found.some((decoder) => decoder.name === name))
    const { items, total } = collectRows(rows, decoderTable, query, world.now())
    return affected(items, { total, failed: failed.map((id) => ({ id, error: new V4Error(1504) })) })
  }
}
