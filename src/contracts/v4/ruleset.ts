/** Records of rules, decoders and lists, and of the MITRE ATT&CK tables. */
import type { Param, V4Endpoint } from '../endpoint.ts'
import { anyNode, cacheIn } from '../schemas/shared.ts'
import { param, query, rows, word } from './parameters.ts'
import { file, read, write } from './shared.ts'
import { bool, integer, list, oneOf, since, text } from './value.ts'

const status = { status: param('status of the files', { ...oneOf('enabled', 'disabled', 'all'), minItems: 1 }) }
const xmlFile = param('name of the file', text('xml_filename_path'))
const xmlFiles = { filename: param('names of files', list(text('xml_filename'))) }
const xml = {
  type: 'application/xml',
  folder: { relative_dirname: param('folder of the file', since('4.7', text('get_dirnames_path'))) },
} as const

const ofLists = {
  permission: 'lists:read',
  rights: ['lists:read on list:file:{filename}'],
  cache: cacheIn('lists', 'lists'),
} as const
const ofRules = {
  permission: 'rules:read',
  target: anyNode,
  answeredByNodeCache: true,
  cache: cacheIn('rules', 'rules'),
} as const
const ofDecoders = {
  permission: 'decoders:read',
  target: anyNode,
  cache: cacheIn('decoders', 'decoders'),
} as const

export const ruleset: readonly V4Endpoint[] = [
  read('/lists', 'List the contents of CDB lists', {
    ...ofLists,
    query: query(...rows, 'select', 'relative_dirname', 'filename', 'q@4.7', 'distinct@4.7'),
    snapshot: 'lists',
  }),
  read('/lists/files', 'List CDB list files', {
    ...ofLists,
    query: query(...rows, 'relative_dirname', 'filename'),
    snapshot: 'listFiles',
  }),
  read('/rules', 'List rules', {
    ...ofRules,
    query: query(
      ...rows,
      { rule_ids: param('ids of rules', list(integer({ minimum: 1 }))) },
      'select',
      'q',
      {
        ...status,
        group: word('group of the rules'),
        level: param('level of the rules, or a range such as 2-4', text('range')),
      },
      'filename',
      'relative_dirname',
      {
        pci_dss: word('requirement of PCI DSS'),
        gdpr: word('requirement of GDPR'),
        gpg13: word('requirement of GPG 13'),
        hipaa: word('requirement of HIPAA'),
        'nist-800-53': word('requirement of NIST 800-53'),
        tsc: word('requirement of TSC'),
        mitre: word('id of a MITRE technique'),
      },
      'distinct@4.7',
    ),
    snapshot: 'rules',
  }),
  read('/rules/groups', 'List the groups of rules', { ...ofRules, query: query(...rows), snapshot: 'catalogue' }),
  read('/rules/requirement/:requirement', 'List the values of a compliance requirement in rules', {
    ...ofRules,
    params: {
      requirement: param(
        'compliance standard',
        oneOf('pci_dss', 'gdpr', 'hipaa', 'nist-800-53', 'gpg13', 'tsc', 'mitre'),
      ),
    },
    query: query(...rows),
    snapshot: 'catalogue',
  }),
  read('/rules/files', 'List rule files', {
    ...ofRules,
    rights: ['rules:read on rule:file:{filename}'],
    query: query(...rows, 'relative_dirname', xmlFiles, status, 'q@4.7', 'select@4.7', 'distinct@4.7'),
    snapshot: 'ruleFiles',
  }),
  read('/decoders', 'List decoders', {
    ...ofDecoders,
    query: query(
      ...rows,
      { decoder_names: param('names of decoders', list(text('names'))) },
      ...(['select', 'q', 'filename', 'relative_dirname'] as const),
      status,
      'distinct@4.7',
    ),
    snapshot: 'decoders',
  }),
  read('/decoders/files', 'List decoder files', {
    ...ofDecoders,
    rights: ['decoders:read on decoder:file:{filename}'],
    query: query(...rows, xmlFiles, 'relative_dirname', status, 'q@4.7', 'select@4.7', 'distinct@4.7'),
    snapshot: 'decoderFiles',
  }),
  read('/decoders/parents', 'List parent decoders', {
    ...ofDecoders,
    query: query(...rows, 'select'),
    snapshot: 'decoders',
  }),
  ...fileRecords('lists', {
    what: 'CDB list file',
    filename: param('name of the file', text('cdb_filename_path')),
    type: 'text/plain',
  }),
  ...fileRecords('rules', { what: 'rule file', filename: xmlFile, ...xml }),
  ...fileRecords('decoders', { what: 'decoder file', filename: xmlFile, ...xml }),
]

interface Files {
  readonly what: string
  readonly filename: Param
  readonly type: 'text/plain' | 'application/xml'
  /** Parameters that name the folder. Absent: there is one folder. */
  readonly folder?: Readonly<Record<string, Param>>
}

function fileRecords(kind: 'lists' | 'rules' | 'decoders', { what, filename, type, folder = {} }: Files) {
  const path = `/${kind}/files/:filename` as const
  const common = { params: { filename } } as const
  const changing = { ...common, invalidates: ['validation', kind], writeLock: `file:${kind}:{filename}` } as const
  return [
    read(path, `Get a ${what}`, {
      ...common,
      permission: 'files:read',
      ...(kind === 'lists' && { rights: ['lists:read on list:file:{filename}'] }),
      ...(kind === 'rules' && { answeredByNodeCache: true }),
      secret: 'possible',
      query: query('raw', folder),
      response: { data: 'items', schema: 'V4Item', raw: { when: 'raw', type } },
      cache: { never: 'the contents of a file' },
    }),
    write('PUT', path, `Upload a ${what}`, {
      ...changing,
      permission: 'files:write',
      rights: [`${kind}:update on *:*:*`],
      query: { overwrite: param('replace a file of the same name', bool(false)), ...folder },
      body: file('application/octet-stream'),
    }),
    write('DELETE', path, `Delete a ${what}`, {
      ...changing,
      permission: 'files:delete',
      rights: [`${kind}:delete on ${kind.slice(0, -1)}:file:{filename}`],
      query: folder,
    }),
  ]
}

const ofMitre = {
  permission: 'mitre:read',
  rights: ['mitre:read on *:*:*'],
  target: anyNode,
  cache: cacheIn('rules', 'mitre'),
} as const

/** The tables, and the parameter that names rows. */
const mitreTables = [
  ['groups', 'group_ids', 'MITRE groups'],
  ['mitigations', 'mitigation_ids', 'mitigations'],
  ['references', 'reference_ids', 'references'],
  ['software', 'software_ids', 'software'],
  ['tactics', 'tactic_ids', 'tactics'],
  ['techniques', 'technique_ids', 'techniques'],
] as const

export const mitre: readonly V4Endpoint[] = [
  read('/mitre/metadata', 'Get the metadata of the MITRE database', ofMitre),
  ...mitreTables.map(([table, ids, what]) =>
    read(`/mitre/${table}`, `List MITRE ${table}`, {
      ...ofMitre,
      query: query(
        ...rows,
        { [ids]: param(`ids of ${what}`, list(text())) },
        ...(table === 'references' ? [] : (['distinct@4.7'] as const)),
        'select',
        'q',
      ),
      snapshot: 'pages',
    }),
  ),
]
