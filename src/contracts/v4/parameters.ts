/** Parameters of the v4 contract: how they are built, and those that several operations have. */
import type { Param } from '../endpoint.ts'
import { bool, integer, list, oneOf, type Release, since, text, until, type Value, wordOf, wordsIn } from './value.ts'

/** Returns a parameter of path or query. */
export function param(role: string, value: Value): Param {
  return { kind: 'described', role, value, ...(value.default !== undefined && { default: value.default }) }
}

/** Returns a parameter without which the manager refuses the request. */
export function required(role: string, value: Value): Param {
  return { ...param(role, value), required: 604 }
}

/** `0001` is agent 001 too. */
const agentId: Param = { ...param('id of the agent', text('numbers', { minLength: 3 })), canonical: 'agentId' }

/** The parameters of paths that mean the same in each path. */
export const pathParams = {
  agent_id: agentId,
  component: param('component', {
    ...wordOf(`
      agent agentless analysis auth com csyslog integrator logcollector mail monitor request syscheck wazuh-db
      wazuh-manager-db wmodules`),
    wordReleases: {
      ...wordsIn(
        { until: '4.14' },
        'agent agentless analysis com csyslog integrator logcollector mail syscheck wazuh-db',
      ),
      'wazuh-manager-db': { since: '5.0' },
    },
  }),
  configuration: param('configuration of the component', {
    ...wordOf(`
      client buffer labels internal anti_tampering agentless global active_response alerts command rules decoders
      auth logging reports active-response cluster csyslog integration localfile socket remote syscheck rootcheck
      wdb wmodules rule_test`),
    wordReleases: wordsIn(
      { until: '4.14' },
      `active-response active_response agentless alerts anti_tampering buffer client cluster command csyslog decoders
      integration labels localfile logging reports rootcheck rule_test rules socket syscheck`,
    ),
  }),
  file_name: param('name of the file', text('alphanumeric')),
  group_id: param('name of the group', text('group_names')),
  node_id: param('name of the node', text('names')),
  policy_id: param('id of the policy', text('numbers', { description: 'Policy ID', reference: 'policy_id_rbac' })),
  role_id: param('id of the role', text('numbers')),
  rule_id: param('id of the security rule', text('numbers')),
  user_id: param('id of the user', text('numbers')),
}

const ofQuery = {
  agents_list: {
    ...param(
      'ids of agents',
      list(text('numbers', { minLength: 3, description: 'Agent ID', reference: 'agents_list' })),
    ),
    canonical: 'agentIds',
  } as Param,
  distinct: param('only different rows', bool(false)),
  filename: param('names of files', list(text('alphanumeric'))),
  groups_list: param(
    'names of groups',
    list(text('group_names', { description: 'Group name', reference: 'groups_list' })),
  ),
  hash: param(
    'hash function of the checksums',
    wordOf('md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s sha3_224 sha3_256 sha3_384 sha3_512'),
  ),
  limit: param('maximum number of rows', integer({ minimum: 1, maximum: 100_000, default: 500 })),
  nodes_list: param('names of nodes', list(text())),
  offset: param('first row', integer({ minimum: 0, default: 0 })),
  q: param('query filter', text()),
  raw: param('the response is the text itself, without JSON', bool()),
  relative_dirname: param('folder of the files', text('get_dirnames_path')),
  search: param('text that a row contains; a leading - excludes it', text('search')),
  select: param('fields of each row', list(text('names'))),
  sort: param('fields to sort by; a leading - sorts in descending order', text('sort')),
}
type Name = keyof typeof ofQuery
export type Params = Readonly<Record<string, Param>>

/** The parameters of each collection. */
export const rows = ['offset', 'limit', 'sort', 'search'] as const

/**
 * Returns the query of an operation: parameters by their names, and others. `q@4.7`: since this release.
 *
 * @example query(...rows, 'select', 'distinct@4.7', { status: word('status of the task') })
 */
export function query(...parts: readonly (Name | `${Name}@${Release}` | Params)[]): Params {
  return Object.assign({}, ...parts.map((part) => (typeof part === 'object' ? part : paramOf(part))))
}

function paramOf(part: string): Params {
  const [name = '', release] = part.split('@')
  const found: Param = ofQuery[name as Name]
  if (release === undefined || found.value === undefined) return { [name]: found }
  return { [name]: { ...found, value: since(release as Release, found.value) } }
}

/** A list without which the manager refuses the request. */
export const agentsOrAll: Param = {
  ...required('ids of agents, or all', list(text('numbers_or_all', { minLength: 3 }))),
  canonical: 'agentIds',
}
export const agentStatus = param(
  'status of the agents',
  list(oneOf('active', 'pending', 'never_connected', 'disconnected'), { minItems: 1 }),
)

export const agentFilters: Params = {
  'os.type': param('type of the operating system', since('5.0', text('alphanumeric'))),
  'os.platform': word('platform of the operating system'),
  'os.version': laterSymbols('version of the operating system'),
  'os.major': param('major version of the operating system', since('5.0', text('numbers'))),
  'os.minor': param('minor version of the operating system', since('5.0', text('numbers'))),
  'os.arch': param('architecture of the operating system', since('5.0', text('alphanumeric'))),
  'os.name': word('name of the operating system'),
  manager: param('name of the manager that the agent reports to', until('4.14', text('alphanumeric'))),
  version: word('release of the agent'),
  group: param(
    'name of a group of the agent',
    text('group_names', { description: 'Group name', reference: 'agent_group' }),
  ),
  node_name: param('name of the node that the agent reports to', until('4.14', text('names'))),
  name: word('name of the agent'),
  ip: word('address of the agent'),
  registerIP: word('address with which the agent was registered'),
}

export function word(role: string): Param {
  return param(role, text('alphanumeric'))
}

/** Returns the parameter of a word that may have symbols from release 5.0 on. */
export function laterSymbols(role: string): Param {
  return param(role, text('alphanumeric', { laterFormat: { since: '5.0', format: 'alphanumeric_symbols' } }))
}

/** Returns the parameter of a text with symbols. */
export function symbols(role: string): Param {
  return param(role, text('alphanumeric_symbols'))
}

export function amount(role: string): Param {
  return param(role, integer({ minimum: 0 }))
}
