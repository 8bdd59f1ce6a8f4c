/** The inverse of the translation, as a table: the call of the v4 layout for each v3 endpoint. */
import { type InventoryKind, inventories, inventoryKinds } from '../../../src/contracts/v3/inventories.ts'
import type { V4Exchange } from './exchanges.ts'
import type { Reason, V3Request } from './v3-request.ts'

/** `true`: a flag; `false`: nothing is sent; `null`: the node does not know this word; `undefined`: only the node does. */
export type V3Value = string | true | false | null | undefined

export interface Inverse {
  /** Method, path and fixed parameters of the call; `:name` is a v3 path parameter. */
  readonly call: string
  /** Parameter names, v4 → v3. */
  readonly names?: Readonly<Record<string, string>>
  /** v3 parameters that the contract does not list. */
  readonly alsoKnown?: readonly string[]
  /** Values by v4 name. */
  readonly values?: Readonly<Record<string, (value: string) => V3Value>>
  /** The v3 name of a field in `select`, `sort`, `q` and `fields`; `null`: the node does not know this name. */
  readonly field?: (name: string) => string | null
  /** The v3 operand of a condition of `q`. */
  readonly operand?: (field: string, operand: string) => string
  /** Several ids are one value. */
  readonly list?: true
  readonly finish?: (request: V3Request, exchange: V4Exchange) => V3Request | Reason
}

const flag = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined)
const renamed = (names: Readonly<Record<string, string>>) => (name: string) =>
  Object.values(names).includes(name) && !(name in names) ? null : (names[name] ?? name)
/** Inventory: `ram.free` → `ram_free`. */
const flat = (name: string) => name.replaceAll('.', '_')

const v3Status = (value: string) =>
  value
    .split(',')
    .map((word) => (word === 'never_connected' ? 'neverconnected' : word))
    .join(',')
/** The node has no word for all agents and knows `never_connected` only. */
const statusWords = (value: string) => (/neverconnected|never connected|^all$/i.test(value) ? null : v3Status(value))
const v3Time = (text: string) => text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z$/, '$1 $2')

const agents = {
  // The node knows the parts of `os` only.
  field: (name: string) => (name === 'os' ? null : name),
  values: { status: statusWords },
  operand: (field: string, operand: string) => (field === 'status' ? v3Status(operand) : v3Time(operand)),
} as const

const rulesetNames = { filename: 'file', relative_dirname: 'path', pci_dss: 'pci' } as const
const ruleset = {
  names: rulesetNames,
  field: renamed({ ...rulesetNames, nist_800_53: 'nist-800-53' }),
} as const

/** `wazuh-remoted` → `ossec-remoted`; a v3 client does not ask for another `wazuh-` name. */
const KEPT_DAEMONS = ['wazuh-db', 'wazuh-modulesd', 'wazuh-clusterd']
const v3Daemon = (name: string) => {
  if (name.startsWith('ossec-')) return null
  return KEPT_DAEMONS.includes(name) ? name : name.replace(/^wazuh-/, 'ossec-')
}
const V3_LEVELS = ['error', 'warning', 'info', 'critical', 'debug']
const logs = {
  names: { level: 'type_log', tag: 'category' },
  values: {
    level: (value: string) => (value === 'all' ? null : V3_LEVELS.includes(value) ? value : undefined),
    tag: v3Daemon,
  },
  operand: (field: string, operand: string) => (field === 'tag' ? (v3Daemon(operand) ?? operand) : v3Time(operand)),
} as const
const stats = {
  values: { date: (value: string) => (/^\d{8}$/.test(value) ? null : value.replaceAll('-', '')) },
} as const

const rootcheckNames = { log: 'event', date_first: 'oldDay', date_last: 'readDay', pci_dss: 'pci' } as const
const rootcheck = {
  names: { pci_dss: 'pci' },
  field: renamed(rootcheckNames),
  operand: (_: string, text: string) => v3Time(text),
} as const
const syscheck = {
  values: {
    summary: (value: string) => (value === 'true' ? 'yes' : 'no'),
    type: (value: string) => (value === 'registry' ? null : { file: 'file', registry_key: 'registry' }[value]),
  },
} as const

const inventoryNames = Object.fromEntries(
  [
    ...['ram.free', 'ram.total', 'cpu.cores', 'cpu.mhz', 'cpu.name', 'os.name', 'os.version'],
    ...['local.ip', 'local.port', 'remote.ip'],
    ...['tx', 'rx'].flatMap((way) => ['packets', 'bytes', 'errors', 'dropped'].map((what) => `${way}.${what}`)),
  ].map((name) => [name, flat(name)]),
)
const inventory = { names: inventoryNames, field: flat } as const
const allAgents = {
  ...inventory,
  names: { ...inventoryNames, agents_list: 'agent_id' },
  finish: (request: V3Request) => {
    const { agent_id, offset } = request.query
    if (agent_id === undefined) return 'unfilteredAgents' as const
    if (offset !== undefined) return 'offset' as const
    return /999|008/.test(String(agent_id)) ? ('leftOut' as const) : request
  },
} as const

/** Files by their path in the v3 layout. */
const SHIPPED = /^\d{4}-/
const fileAt = (folder: 'rules' | 'decoders' | 'lists') => (request: V3Request) => {
  const { file = '', ...params } = request.params
  const subfolder = file.startsWith('aws-') ? 'amazon/' : ''
  // Files that are shipped can be read only; a write goes to a file of the same name.
  const isShipped = SHIPPED.test(file) && request.endpoint.startsWith('GET')
  const path = isShipped ? `ruleset/${folder}/${file}` : `etc/${folder}/${subfolder}${file}`
  return { ...request, params, query: { path, ...request.query } }
}
const mainConfiguration = (request: V3Request) => ({
  ...request,
  query: { path: 'etc/ossec.conf', ...request.query },
})
/** A v3 client sends XML as such; only lists are octets. */
const upload = (at: (request: V3Request) => V3Request, isXml: boolean) => (request: V3Request) => {
  if (request.body?.type !== 'application/octet-stream') return 'mediaType' as const
  const made = at(request)
  return isXml ? { ...made, body: { type: 'application/xml', text: request.body.text } } : made
}

type Fields = Record<string, unknown>

function jsonBody(change: (fields: Fields) => Fields | Reason) {
  return (request: V3Request): V3Request | Reason => {
    const { body } = request
    if (body === undefined || !body.type.startsWith('application/json')) return 'mediaType'
    let fields: unknown
    try {
      fields = JSON.parse(body.text)
    } catch {
      return 'mediaType'
    }
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return 'mediaType'
    const changed = change(fields as Fields)
    if (typeof changed === 'string') return changed
    return { ...request, body: { type: 'application/json', text: JSON.stringify(changed) } }
  }
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** `force` of the v3 layout is a number of seconds. */
const withForce = jsonBody((fields) => {
  const { force, ...rest } = fields
  if (force === undefined || (typeof force === 'object' && (force as Fields).enabled === false)) return rest
  const { enabled, after_registration_time, disconnected_time, ...others } = (force ?? {}) as Fields
  const { enabled: isTimed, value } = (disconnected_time ?? {}) as Fields
  const isV3 = enabled === true && after_registration_time === '0s' && Object.keys(others).length === 0
  if (!isV3 || disconnected_time === undefined) return 'form'
  if (isTimed === false) return { ...rest, force: 0 }
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(String(value)) ?? []
  return { ...rest, force: Number(count) * (SECONDS[unit] ?? Number.NaN) }
})

const noAlert = jsonBody((fields) => ('alert' in fields ? 'onlyV4' : fields))

/** The group is in the body of the call and in the path of the v3 request. */
const groupInPath = (request: V3Request): V3Request | Reason => {
  const read = jsonBody((fields) => fields)(request)
  if (typeof read === 'string') return read
  const { group_id, ...others } = JSON.parse(read.body?.text ?? '{}') as Fields
  if (typeof group_id !== 'string' || group_id === '' || Object.keys(others).length > 0) return 'form'
  const { body: _, ...rest } = request
  return { ...rest, params: { ...request.params, group_id } }
}

/** The ids are in the query of the call and in the body of the v3 request. */
const idsInBody = ({ params: { ids = '', ...params }, ...request }: V3Request): V3Request => ({
  ...request,
  params,
  body: { type: 'application/json', text: JSON.stringify({ ids: ids.split(',') }) },
})

const xmlOnly = (request: V3Request) => (request.body?.type === 'application/xml' ? request : ('mediaType' as const))

/** The v3 path without a node is about the master. */
const ofMaster = (request: V3Request) => (request.asked === 'master' ? request : ('aboutWorker' as const))

const oneOf = (...inverse: readonly Inverse[]) => inverse
const requirements = { pci: 'pci_dss', gdpr: 'gdpr', hipaa: 'hipaa', 'nist-800-53': 'nist-800-53', gpg13: 'gpg13' }

/** Endpoints that the master answers for itself and for a worker. */
const onNodes: Readonly<Record<string, { readonly path: string; readonly inverse?: Omit<Inverse, 'call'> }>> = {
  'GET info': { path: 'info' },
  'GET status': { path: 'status' },
  'GET configuration': { path: 'configuration' },
  'GET config/:component/:configuration': { path: 'configuration/:component/:configuration' },
  'GET logs': { path: 'logs', inverse: logs },
  'GET logs/summary': { path: 'logs/summary' },
  'GET stats': { path: 'stats', inverse: stats },
  'GET stats/hourly': { path: 'stats/hourly' },
  'GET stats/weekly': { path: 'stats/weekly' },
  'GET stats/analysisd': { path: 'stats/analysisd' },
  'GET stats/remoted': { path: 'stats/remoted' },
}

function nodeInverses(): Record<string, readonly Inverse[]> {
  return Object.fromEntries(
    Object.entries(onNodes).flatMap(([key, { path, inverse }]) =>
      ['manager', 'cluster/:node_id'].map((root) => {
        const [method, v3] = key.split(' ')
        return [`${method} /${root}/${v3}`, [{ call: `${method} /${root}/${path}`, ...inverse }]] as const
      }),
    ),
  )
}

export const inverses: Readonly<Record<string, readonly Inverse[]>> = {
  ...nodeInverses(),
  'PUT /active-response/:agent_id': oneOf({ call: 'PUT /active-response?agents_list=:agent_id', finish: noAlert }),

  'POST /agents': oneOf({ call: 'POST /agents', finish: withForce }),
  'PUT /agents/:agent_name': oneOf({ call: 'POST /agents/insert/quick?agent_name=:agent_name' }),
  'POST /agents/insert': oneOf({ call: 'POST /agents/insert', finish: withForce }),
  'GET /agents': oneOf({ call: 'GET /agents', ...agents }),
  'GET /agents/:agent_id': oneOf({ call: 'GET /agents?agents_list=:agent_id', ...agents }),
  'GET /agents/name/:agent_name': oneOf({ call: 'GET /agents?name=:agent_name', ...agents }),
  'GET /agents/no_group': oneOf({ call: 'GET /agents/no_group', ...agents }),
  'GET /agents/outdated': oneOf({ call: 'GET /agents/outdated' }),
  'GET /agents/summary': oneOf({ call: 'GET /agents/summary/status' }),
  'GET /agents/summary/os': oneOf({ call: 'GET /agents/summary/os' }),
  'GET /agents/stats/distinct': oneOf({ call: 'GET /agents/stats/distinct', ...agents }),
  'GET /agents/:agent_id/key': oneOf({ call: 'GET /agents/:agent_id/key' }),
  'GET /agents/:agent_id/config/:component/:configuration': oneOf({
    call: 'GET /agents/:agent_id/config/:component/:configuration',
  }),
  'GET /agents/:agent_id/group/is_sync': oneOf({ call: 'GET /agents/:agent_id/group/is_sync' }),
  'GET /agents/:agent_id/upgrade_result': oneOf({
    call: 'GET /agents/upgrade_result?agents_list=:agent_id',
    finish: (request, { response }) => (response.body?.includes('"Updating"') ? 'polled' : request),
  }),
  'DELETE /agents': oneOf({
    call: 'DELETE /agents',
    names: { agents_list: 'ids' },
    values: {
      agents_list: (ids) => (ids === 'all' ? false : ids),
      purge: flag,
      status: (value) => (value === 'all' ? value : statusWords(value)),
    },
  }),
  'DELETE /agents/:agent_id': oneOf({
    call: 'DELETE /agents?agents_list=:agent_id&status=all&older_than=0s',
    values: { purge: flag },
  }),
  'POST /agents/restart': oneOf({ call: 'PUT /agents/restart?agents_list=:ids', list: true, finish: idsInBody }),
  'PUT /agents/restart': oneOf({ call: 'PUT /agents/restart' }),
  'PUT /agents/:agent_id/restart': oneOf({ call: 'PUT /agents/:agent_id/restart' }),
  'PUT /agents/:agent_id/upgrade': oneOf({
    call: 'PUT /agents/upgrade?agents_list=:agent_id',
    names: { upgrade_version: 'version', version: '(a filter of agents)' },
    values: { force: (value) => ({ true: '1', false: '0' })[value] },
  }),
  'PUT /agents/:agent_id/upgrade_custom': oneOf({ call: 'PUT /agents/upgrade_custom?agents_list=:agent_id' }),

  'GET /agents/groups': oneOf({ call: 'GET /groups' }),
  'GET /agents/groups/:group_id': oneOf({ call: 'GET /groups/:group_id/agents', ...agents }),
  'GET /agents/groups/:group_id/configuration': oneOf({ call: 'GET /groups/:group_id/configuration' }),
  'GET /agents/groups/:group_id/files': oneOf({ call: 'GET /groups/:group_id/files' }),
  'GET /agents/groups/:group_id/files/:filename': oneOf(
    { call: 'GET /groups/:group_id/files/:filename/json' },
    {
      call: 'GET /groups/:group_id/files/:filename/xml',
      // The v3 layout knows XML of this file only.
      finish: (request) =>
        request.params.filename === 'agent.conf'
          ? { ...request, query: { ...request.query, format: 'xml' } }
          : 'onlyV4',
    },
  ),
  'PUT /agents/groups/:group_id': oneOf({ call: 'POST /groups', finish: groupInPath }),
  'POST /agents/groups/:group_id/configuration': oneOf({
    call: 'PUT /groups/:group_id/configuration',
    finish: xmlOnly,
  }),
  'POST /agents/groups/:group_id/files/:file_name': oneOf({
    call: 'PUT /groups/:group_id/configuration',
    finish: (request) => ({ ...request, params: { ...request.params, file_name: 'agent.conf' } }),
  }),
  'POST /agents/group/:group_id': oneOf({
    call: 'PUT /agents/group?group_id=:group_id&agents_list=:ids',
    list: true,
    finish: idsInBody,
  }),
  'PUT /agents/:agent_id/group/:group_id': oneOf({
    call: 'PUT /agents/:agent_id/group/:group_id',
    values: { force_single_group: flag },
  }),
  'DELETE /agents/:agent_id/group': oneOf({ call: 'DELETE /agents/:agent_id/group' }),
  'DELETE /agents/:agent_id/group/:group_id': oneOf({ call: 'DELETE /agents/:agent_id/group/:group_id' }),
  'DELETE /agents/group/:group_id': oneOf({
    call: 'DELETE /agents/group?group_id=:group_id',
    names: { agents_list: 'ids' },
  }),
  'DELETE /agents/groups': oneOf({ call: 'DELETE /groups', names: { groups_list: 'ids' } }),
  'DELETE /agents/groups/:group_id': oneOf({ call: 'DELETE /groups?groups_list=:group_id' }),

  'GET /ciscat/:agent_id/results': oneOf({ call: 'GET /ciscat/:agent_id/results', ...inventory }),
  'GET /experimental/ciscat/results': oneOf({ call: 'GET /experimental/ciscat/results', ...allAgents }),

  'GET /manager/configuration/validation': oneOf({ call: 'GET /manager/configuration/validation' }),
  'GET /cluster/:node_id/configuration/validation': oneOf({
    call: 'GET /cluster/configuration/validation?nodes_list=:node_id',
  }),
  'GET /cluster/configuration/validation': oneOf({ call: 'GET /cluster/configuration/validation' }),
  'GET /manager/files': oneOf(
    { call: 'GET /rules/files/:file?raw=true', finish: fileAt('rules') },
    { call: 'GET /decoders/files/:file?raw=true', finish: fileAt('decoders') },
    { call: 'GET /lists/files/:file?raw=true', finish: fileAt('lists') },
    { call: 'GET /manager/configuration?raw=true', finish: mainConfiguration },
  ),
  'GET /cluster/:node_id/files': oneOf(
    { call: 'GET /cluster/:node_id/configuration?raw=true', finish: mainConfiguration },
    {
      call: 'GET /rules/files/:file?raw=true',
      finish: (request) => {
        const made = fileAt('rules')(request)
        return { ...made, params: { ...made.params, node_id: 'master' } }
      },
    },
  ),
  'POST /manager/files': oneOf(
    { call: 'PUT /rules/files/:file', finish: upload(fileAt('rules'), true) },
    { call: 'PUT /decoders/files/:file', finish: upload(fileAt('decoders'), true) },
    { call: 'PUT /lists/files/:file', finish: upload(fileAt('lists'), false) },
    { call: 'PUT /manager/configuration', finish: upload(mainConfiguration, true) },
  ),
  'POST /cluster/:node_id/files': oneOf({
    call: 'PUT /cluster/:node_id/configuration',
    finish: upload(mainConfiguration, true),
  }),
  'DELETE /manager/files': oneOf(
    { call: 'DELETE /rules/files/:file', finish: fileAt('rules') },
    { call: 'DELETE /decoders/files/:file', finish: fileAt('decoders') },
    { call: 'DELETE /lists/files/:file', finish: fileAt('lists') },
  ),
  'PUT /manager/restart': oneOf({ call: 'PUT /manager/restart' }),
  'PUT /cluster/:node_id/restart': oneOf({ call: 'PUT /cluster/restart?nodes_list=:node_id' }),

  'GET /cluster/config': oneOf({ call: 'GET /cluster/local/config', finish: ofMaster }),
  'GET /cluster/status': oneOf({ call: 'GET /cluster/status' }),
  'GET /cluster/healthcheck': oneOf({
    call: 'GET /cluster/healthcheck',
    names: { nodes_list: 'node' },
    values: { nodes_list: (value) => (value.includes(',') ? undefined : value) },
  }),
  'GET /cluster/node': oneOf({ call: 'GET /cluster/local/info', finish: ofMaster }),
  'GET /cluster/nodes': oneOf({ call: 'GET /cluster/nodes' }),
  'GET /cluster/nodes/:node_name': oneOf({
    call: 'GET /cluster/nodes?nodes_list=:node_name',
    // The v3 layout ignores the parameter.
    values: { select: () => undefined },
  }),
  'PUT /cluster/restart': oneOf({ call: 'PUT /cluster/restart' }),

  'GET /decoders': oneOf({ call: 'GET /decoders', ...ruleset }),
  'GET /decoders/files': oneOf({ call: 'GET /decoders/files', ...ruleset }),
  'GET /decoders/parents': oneOf({ call: 'GET /decoders/parents', ...ruleset }),
  'GET /decoders/:decoder_name': oneOf({ call: 'GET /decoders?decoder_names=:decoder_name', ...ruleset }),
  'GET /rules': oneOf({ call: 'GET /rules', ...ruleset }),
  'GET /rules/:rule_id': oneOf({ call: 'GET /rules?rule_ids=:rule_id', ...ruleset }),
  'GET /rules/files': oneOf({ call: 'GET /rules/files', ...ruleset }),
  'GET /rules/groups': oneOf({ call: 'GET /rules/groups' }),
  ...Object.fromEntries(
    Object.entries(requirements).map(([v3, v4]) => [
      `GET /rules/${v3}`,
      oneOf({ call: `GET /rules/requirement/${v4}` }),
    ]),
  ),
  'GET /lists': oneOf({ call: 'GET /lists', field: renamed({ relative_dirname: 'path', filename: 'name' }) }),
  'GET /lists/files': oneOf({
    call: 'GET /lists/files',
    field: renamed({ relative_dirname: 'path', filename: 'name' }),
  }),

  'GET /rootcheck/:agent_id': oneOf({ call: 'GET /rootcheck/:agent_id', ...rootcheck }),
  'GET /rootcheck/:agent_id/cis': oneOf({ call: 'GET /rootcheck/:agent_id?select=cis&distinct=true' }),
  'GET /rootcheck/:agent_id/pci': oneOf({
    call: 'GET /rootcheck/:agent_id?select=pci_dss&distinct=true',
    field: renamed({ pci_dss: 'pci' }),
  }),
  'GET /rootcheck/:agent_id/last_scan': oneOf({ call: 'GET /rootcheck/:agent_id/last_scan' }),
  'DELETE /rootcheck': oneOf({ call: 'DELETE /experimental/rootcheck?agents_list=all' }),
  'DELETE /rootcheck/:agent_id': oneOf({ call: 'DELETE /rootcheck/:agent_id' }),
  'PUT /rootcheck': oneOf({ call: 'PUT /rootcheck' }),
  'PUT /rootcheck/:agent_id': oneOf({ call: 'PUT /rootcheck?agents_list=:agent_id' }),
  'GET /syscheck/:agent_id': oneOf({ call: 'GET /syscheck/:agent_id', ...syscheck }),
  'GET /syscheck/:agent_id/last_scan': oneOf({ call: 'GET /syscheck/:agent_id/last_scan' }),
  'DELETE /syscheck/:agent_id': oneOf({ call: 'DELETE /syscheck/:agent_id' }),
  'DELETE /experimental/syscheck': oneOf({ call: 'DELETE /experimental/syscheck?agents_list=all' }),
  'PUT /syscheck': oneOf({ call: 'PUT /syscheck' }),
  'PUT /syscheck/:agent_id': oneOf({ call: 'PUT /syscheck?agents_list=:agent_id' }),
  'GET /sca/:agent_id': oneOf({ call: 'GET /sca/:agent_id' }),
  'GET /sca/:agent_id/checks/:policy_id': oneOf({
    call: 'GET /sca/:agent_id/checks/:policy_id',
    field: (name) => (name === 'status' ? null : name),
  }),

  ...Object.fromEntries(
    inventoryKinds.flatMap((kind) => [
      [
        `GET /syscollector/:agent_id/${kind}`,
        oneOf({ call: `GET /syscollector/:agent_id/${kind}`, ...inventory, alsoKnown: hidden(kind) }),
      ],
      [
        `GET /experimental/syscollector/${kind}`,
        oneOf({ call: `GET /experimental/syscollector/${kind}`, ...allAgents, alsoKnown: hidden(kind) }),
      ],
    ]),
  ),
  'GET /summary/agents': oneOf({ call: 'GET /overview/agents' }),
}

/** Returns the parameters of a kind that the interface description does not have. */
function hidden(kind: InventoryKind): readonly string[] {
  const { hidden, filters } = inventories[kind]
  return hidden ? ['offset', 'limit', 'sort', 'search', 'select', 'q', ...Object.keys(filters).map(flat)] : []
}
