/** The collections that the manager computes in memory, written down independently of `src/collections/sources.ts`. */
export type Cell = 'text' | 'number' | 'flag' | 'list' | 'object' | 'mixed'

export interface Collection {
  /** Members of the rows; absent: the elements are texts. */
  readonly cells?: Readonly<Record<string, Cell>>
  readonly order?: readonly string[]
  readonly descending?: true
  readonly sortable?: readonly string[]
  readonly selectable?: readonly string[]
  readonly searchable?: readonly string[]
  readonly parameters?: Readonly<Record<string, Parameter>>
  readonly cutsFirst?: true
}

export interface Parameter {
  readonly field?: string
  readonly values?: readonly string[]
  readonly code?: number
  readonly everything?: string
  readonly range?: true
}

const status: Parameter = { values: ['enabled', 'disabled'], code: 1202, everything: 'all' }
const files = {
  cells: { file: 'text', path: 'text', status: 'text' },
  order: ['file'],
  parameters: { status },
} as const

export const collections: Readonly<Record<string, Collection>> = {
  groups: {
    cells: { name: 'text', count: 'number', mergedSum: 'text', configSum: 'mixed' },
    order: ['name'],
    searchable: ['name'],
  },
  groupFiles: { cells: { filename: 'text', hash: 'mixed' }, order: ['filename'] },
  rules: {
    cells: {
      ...{ id: 'number', level: 'number', description: 'text', file: 'text', path: 'text', status: 'text' },
      ...{ groups: 'list', pci: 'list', 'nist-800-53': 'list', details: 'object', noalert: 'flag' },
    },
    order: ['id'],
    sortable: ['file', 'path', 'description', 'id', 'level', 'status'],
    parameters: { status, level: { field: 'level', range: true, code: 1203 }, group: { field: 'groups' } },
  },
  ruleFiles: files,
  decoders: {
    cells: { name: 'text', file: 'text', position: 'number', path: 'text', status: 'text', details: 'object' },
    order: ['file', 'position'],
    sortable: ['file', 'path', 'name', 'position', 'status'],
    parameters: { status },
  },
  decoderFiles: files,
  catalogue: { order: [] },
  requirements: { order: [] },
  lists: { cells: { path: 'text', items: 'list' }, sortable: ['path'], searchable: ['path'], cutsFirst: true },
  listFiles: {
    cells: { path: 'text', name: 'text', folder: 'text' },
    sortable: ['path', 'name'],
    searchable: ['path', 'name'],
    cutsFirst: true,
  },
  logs: {
    cells: { timestamp: 'text', tag: 'text', level: 'text', description: 'mixed' },
    order: ['timestamp'],
    descending: true,
    sortable: ['timestamp', 'tag', 'level', 'description'],
    parameters: { type_log: { field: 'level', everything: 'all' }, category: { field: 'tag', everything: 'all' } },
  },
  nodes: {
    cells: { name: 'text', type: 'text', version: 'text', ip: 'text' },
    sortable: ['name', 'type', 'version', 'ip'],
    selectable: ['name', 'type', 'version', 'ip'],
    parameters: { type: { values: ['master', 'worker'], code: 1728, everything: 'all' } },
  },
}
