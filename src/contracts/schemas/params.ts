/** Parameters that several records share. Equal parameters are the same object, so that equal schemas compile once. */
import type { Param } from '../endpoint.ts'
import type { Kind } from './kinds.ts'

/** Returns a parameter that has only a kind and a description. */
export function filter<K extends Kind>(kind: K, role: string): Param & { readonly kind: K } {
  return { kind, role }
}

/** Returns filters of one kind, each with its name as description. */
export function filters(kind: Kind, ...names: readonly string[]): Readonly<Record<string, Param>> {
  return Object.fromEntries(names.map((name) => [name, filter(kind, name)]))
}

const agentId: Param = { kind: 'numbers', role: 'agent identifier', canonical: 'agentId' }
export const agentName: Param = { kind: 'names', role: 'agent name' }
const groupId: Param = { kind: 'names', role: 'group name' }
const nodeId: Param = { kind: 'names', role: 'node name' }
/** All nodes or a list of nodes. A single name is `nodeId`. */
export const nodeIds: Param = {
  kind: 'node_names',
  role: 'names of nodes, separated by commas, or * for all',
  canonical: 'nameSet',
  routePattern: '^(?:\\*|[A-Za-z0-9_.-]+,[A-Za-z0-9_.,-]*)$',
}
/** The parameters of paths that mean the same in each path. */
export const pathParams = {
  agent_id: agentId,
  group_id: groupId,
  node_id: nodeId,
  component: { kind: 'names', role: 'component' } as Param,
  configuration: { kind: 'names', role: 'configuration of the component' } as Param,
}

export const offset: Param = { kind: 'numbers', role: 'first element to return', default: 0 }
export const limit: Param = {
  kind: 'numbers',
  role: 'maximum number of elements to return',
  default: 500,
  pageLimit: { max: 1000 },
}
/** CDB lists reject a limit of 0 and have no maximum. */
const unboundedLimit: Param = {
  kind: 'numbers',
  role: 'maximum number of elements to return',
  default: 500,
  pageLimit: {},
}
export const sort: Param = { kind: 'sort', role: 'fields separated by commas; + in front ascends, - descends' }
const search: Param = { kind: 'search', role: 'search string' }
export const select: Param = { kind: 'select', role: 'field selector' }
export const q: Param = { kind: 'query', role: 'query filter' }

export const hiddenSearch: Param = { ...search, beyondSeed: true }
export const hiddenSelect: Param = { ...select, beyondSeed: true }
export const hiddenQ: Param = { ...q, beyondSeed: true }
/** The real API accepts the parameter and then fails. */
const FAILS = 'nodes of the v3 layout answer 1000'
export const failingSelect: Param = { ...hiddenSelect, note: FAILS }
export const failingQ: Param = { ...hiddenQ, note: FAILS }

/** Paging, with and without sort and search. Error 604 lists the names in the order of the record's query. */
export const page = { offset, limit }
export const list = { offset, limit, sort, search }
export const unboundedList = { offset, limit: unboundedLimit, sort, search }

export const agentStatus: Param = {
  kind: 'alphanumeric',
  role: 'status (comma-separable)',
  allowed: ['active', 'pending', 'neverconnected', 'disconnected', 'all'],
  note: 'in any case; other values give 1729',
}
export const olderThan: Param = {
  kind: 'timeframe',
  role: 'disconnected-longer-than time',
  note: 'for agents that never connected, the time since their registration',
}
export const agentIds: Param = { kind: 'array_numbers', role: 'agent ids, separated by commas', canonical: 'agentIds' }

/** The real API rejects this filter (604). The edge answers it with one call for each agent. */
export const agentFilter: Param = {
  kind: 'array_numbers',
  role: 'agent id filter: ids, separated by commas',
  canonical: 'agentIdSet',
  edgeOnly: true,
}

export const hashAlgorithm: Param = {
  kind: 'names',
  role: 'hash algorithm',
  default: 'md5',
  allowed: [
    'md5',
    'sha1',
    'sha224',
    'sha256',
    'sha384',
    'sha512',
    'blake2b',
    'blake2s',
    'sha3_224',
    'sha3_256',
    'sha3_384',
    'sha3_512',
  ],
  note: 'other algorithms that the manager supports work too; unknown ones give 1723',
}

/** Filters of rules and decoders and of their files. */
export const rulesetStatus: Param = {
  kind: 'alphanumeric',
  role: 'status',
  default: 'all',
  allowed: ['enabled', 'disabled', 'all'],
  note: 'other values give 1202',
}
export const rulesetFile = filter('alphanumeric', 'file name')
export const rulesetPath = filter('paths', 'path')
export const download: Param = {
  kind: 'alphanumeric',
  role: 'name of a file to download',
  note: 'the response is the file itself; an unknown name gives 700',
}

/*
 * Folders of files that clients may read and write; other paths give 704. No segment is or ends with a dot, so `./` and
 * `../` never match, and neither do backslashes and empty segments. Each repetition ends at a character that it cannot
 * contain, so matching takes linear time.
 */

const ANY = '[A-Za-z0-9_.:-]'
const NO_DOT = '[A-Za-z0-9_:-]'
const SUBFOLDERS = `(?:${ANY}*${NO_DOT}/)*`
const XML_FILE = `${ANY}+\\.xml`
const LIST_FILE = `\\.*${NO_DOT}${ANY}*`

const CONFIGURATION = 'etc/ossec\\.conf'
const RULESET = `(?:rules|decoders)/${SUBFOLDERS}${XML_FILE}`
const LISTS = `etc/lists/${SUBFOLDERS}${LIST_FILE}`

function path(role: string, ...allowed: readonly string[]): Param {
  const within = { pattern: `^(?:${allowed.join('|')})$`, code: 704 } as const
  return { kind: 'paths', role, required: 706, within }
}

export const readPath = path('relative path', CONFIGURATION, `(?:etc|ruleset)/${RULESET}`, LISTS)
export const writePath = path('relative destination', CONFIGURATION, `etc/${RULESET}`, LISTS)
/** Excludes the main configuration: a node cannot restart without it. The real API would delete it. */
export const deletePath = path('relative path', `etc/${RULESET}`, LISTS)
