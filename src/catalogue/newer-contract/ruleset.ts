/** Records of rules, decoders and lists. */
import type { Endpoint, Param } from '../endpoint.ts'
import { anyNode, withSnapshot } from '../schemas/targets.ts'
import {
  distinctSince47,
  fileStatus,
  files,
  folder,
  folderSince47,
  listFile,
  overwrite,
  q,
  qSince47,
  raw,
  rows,
  select,
  selectSince47,
  xmlFile,
  xmlFiles,
} from './params.ts'
import { cacheIn, master, read, write } from './record.ts'
import { file, integer, list, oneOf, param, text } from './values.ts'

const xml = { type: 'application/xml', folder: { relative_dirname: folderSince47 } } as const

export const ruleset: readonly Endpoint[] = [
  read({
    path: '/lists',
    section: 'Lists',
    summary: 'List the contents of CDB lists',
    permission: 'lists:read',
    rights: ['lists:read on list:file:{filename}'],
    target: master(),
    query: { ...rows, select, relative_dirname: folder, filename: files, q: qSince47, distinct: distinctSince47 },
    cache: withSnapshot('lists', cacheIn('lists', 'lists')),
  }),
  read({
    path: '/lists/files',
    section: 'Lists',
    summary: 'List CDB list files',
    permission: 'lists:read',
    rights: ['lists:read on list:file:{filename}'],
    target: master(),
    query: { ...rows, relative_dirname: folder, filename: files },
    cache: withSnapshot('listFiles', cacheIn('lists', 'lists')),
  }),
  read({
    path: '/rules',
    section: 'Rules',
    summary: 'List rules',
    permission: 'rules:read',
    target: anyNode,
    answeredByNodeCache: true,
    query: {
      ...rows,
      rule_ids: param('ids of rules', list(integer({ minimum: 1 }))),
      select,
      q,
      status: fileStatus,
      group: param('group of the rules', text('alphanumeric')),
      level: param('level of the rules, or a range such as 2-4', text('range')),
      filename: files,
      relative_dirname: folder,
      pci_dss: param('requirement of PCI DSS', text('alphanumeric')),
      gdpr: param('requirement of GDPR', text('alphanumeric')),
      gpg13: param('requirement of GPG 13', text('alphanumeric')),
      hipaa: param('requirement of HIPAA', text('alphanumeric')),
      'nist-800-53': param('requirement of NIST 800-53', text('alphanumeric')),
      tsc: param('requirement of TSC', text('alphanumeric')),
      mitre: param('id of a MITRE technique', text('alphanumeric')),
      distinct: distinctSince47,
    },
    cache: withSnapshot('rules', cacheIn('rules', 'rules')),
  }),
  read({
    path: '/rules/groups',
    section: 'Rules',
    summary: 'List the groups of rules',
    permission: 'rules:read',
    target: anyNode,
    answeredByNodeCache: true,
    query: { ...rows },
    cache: withSnapshot('texts', cacheIn('rules', 'rules')),
  }),
  read({
    path: '/rules/requirement/:requirement',
    section: 'Rules',
    summary: 'List the values of a compliance requirement in rules',
    permission: 'rules:read',
    target: anyNode,
    answeredByNodeCache: true,
    params: {
      requirement: param(
        'compliance standard',
        oneOf('pci_dss', 'gdpr', 'hipaa', 'nist-800-53', 'gpg13', 'tsc', 'mitre'),
      ),
    },
    query: { ...rows },
    cache: withSnapshot('texts', cacheIn('rules', 'rules')),
  }),
  read({
    path: '/rules/files',
    section: 'Rules',
    summary: 'List rule files',
    permission: 'rules:read',
    rights: ['rules:read on rule:file:{filename}'],
    target: anyNode,
    answeredByNodeCache: true,
    query: {
      ...rows,
      relative_dirname: folder,
      filename: xmlFiles,
      status: fileStatus,
      q: qSince47,
      select: selectSince47,
      distinct: distinctSince47,
    },
    cache: withSnapshot('rulesetFiles', cacheIn('rules', 'rules')),
  }),
  read({
    path: '/decoders',
    section: 'Decoders',
    summary: 'List decoders',
    permission: 'decoders:read',
    target: anyNode,
    query: {
      ...rows,
      decoder_names: param('names of decoders', list(text('names'))),
      select,
      q,
      filename: files,
      relative_dirname: folder,
      status: fileStatus,
      distinct: distinctSince47,
    },
    cache: withSnapshot('decoders', cacheIn('decoders', 'decoders')),
  }),
  read({
    path: '/decoders/files',
    section: 'Decoders',
    summary: 'List decoder files',
    permission: 'decoders:read',
    rights: ['decoders:read on decoder:file:{filename}'],
    target: anyNode,
    query: {
      ...rows,
      filename: xmlFiles,
      relative_dirname: folder,
      status: fileStatus,
      q: qSince47,
      select: selectSince47,
      distinct: distinctSince47,
    },
    cache: withSnapshot('rulesetFiles', cacheIn('decoders', 'decoders')),
  }),
  read({
    path: '/decoders/parents',
    section: 'Decoders',
    summary: 'List parent decoders',
    permission: 'decoders:read',
    target: anyNode,
    query: { ...rows, select },
    cache: withSnapshot('decoders', cacheIn('decoders', 'decoders')),
  }),
  ...fileRecords('lists', { section: 'Lists', what: 'CDB list file', filename: listFile, type: 'text/plain' }),
  ...fileRecords('rules', { section: 'Rules', what: 'rule file', filename: xmlFile, ...xml }),
  ...fileRecords('decoders', { section: 'Decoders', what: 'decoder file', filename: xmlFile, ...xml }),
]

interface Files {
  readonly section: string
  readonly what: string
  readonly filename: Param
  readonly type: 'text/plain' | 'application/xml'
  /** Parameters that name the folder. Absent: there is one folder. */
  readonly folder?: Readonly<Record<string, Param>>
}

/** Returns the records of one file of a kind. */
function fileRecords(kind: 'lists' | 'rules' | 'decoders', { section, what, filename, type, folder }: Files) {
  const common = {
    section,
    path: `/${kind}/files/:filename` as const,
    target: master(),
    params: { filename },
  } as const
  const changing = { ...common, invalidates: ['validation', kind], writeLock: `file:${kind}:{filename}` } as const
  return [
    read({
      ...common,
      summary: `Get a ${what}`,
      permission: 'files:read',
      ...(kind === 'lists' && { rights: ['lists:read on list:file:{filename}'] }),
      ...(kind === 'rules' && { answeredByNodeCache: true }),
      secret: 'possible',
      query: { raw, ...folder },
      response: { data: 'items', schema: 'NewerItem', raw: { when: 'raw', type } },
      cache: { never: 'the contents of a file' },
    }),
    write('PUT', {
      ...changing,
      summary: `Upload a ${what}`,
      permission: 'files:write',
      rights: [`${kind}:update on *:*:*`],
      query: { overwrite, ...folder },
      body: file('application/octet-stream'),
    }),
    write('DELETE', {
      ...changing,
      summary: `Delete a ${what}`,
      permission: 'files:delete',
      rights: [`${kind}:delete on ${kind.slice(0, -1)}:file:{filename}`],
      query: { ...folder },
    }),
  ]
}
