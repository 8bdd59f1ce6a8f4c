/** Calls in a form in which they can be compared: what the node reads the same is the same. */

export interface SeenCall {
  readonly node: string
  readonly method: string
  readonly path: string
  readonly body: string | undefined
}

/**
 * Returns whether the call is the recorded one. It may have a sort where the recorded call has none, if rows come in the
 * order of the v3 layout by it, and more fields in the sort, which decide between rows that are equal otherwise.
 */
export function isRecordedCall(call: SeenCall, recorded: SeenCall, v3Order: string | undefined): boolean {
  if (canonicalCall(call) === canonicalCall(recorded)) return true
  const others = (one: SeenCall) => canonicalCall(without(one, ['sort', 'select']))
  if (others(call) !== others(recorded) || !selectsAll(call, recorded)) return false
  const sort = sortOf(call)
  const wanted = sortOf(recorded) ?? v3Order
  return wanted !== undefined && (sort === wanted || sort?.startsWith(`${wanted},`) === true)
}

const queryOf = ({ path }: SeenCall) => parametersOf(path.split(/\?(.*)/s)[1] ?? '')
const sortOf = (call: SeenCall) => queryOf(call).get('sort')?.replace(/^\+/, '')

/** Rows of all agents are sorted by the edge, so it selects the fields that it sorts by, too. */
function selectsAll(call: SeenCall, recorded: SeenCall): boolean {
  const fields = (one: SeenCall) => queryOf(one).get('select')?.split(',')
  const wanted = fields(recorded)
  const got = fields(call)
  if (wanted === undefined || got === undefined) return wanted === got
  const isOfAll = call.path.startsWith('/experimental/')
  return wanted.every((field) => got.includes(field)) && (isOfAll || got.every((field) => wanted.includes(field)))
}

function without(call: SeenCall, names: readonly string[]): SeenCall {
  const pattern = new RegExp(`([?&])(?:${names.join('|')})=[^&]*(?=&|$)`, 'g')
  return {
    ...call,
    path: call.path
      .replace(pattern, '$1')
      .replace(/[?&]+$/, '')
      .replace(/([?&])&+/g, '$1'),
  }
}

/** Returns method and path, and the parameters in the order of their names. */
export function canonicalCall({ node, method, path, body }: SeenCall): string {
  const [resource = '', text = ''] = path.split(/\?(.*)/s)
  const root = node === 'master' ? '/cluster/master/' : `/cluster/${node}/`
  const own = resource.startsWith(root) ? `/manager/${resource.slice(root.length)}` : resource
  // The verdict on the master has two paths.
  const isVerdict = node === 'master' && path === '/cluster/configuration/validation?nodes_list=master'
  if (isVerdict) return 'GET /manager/configuration/validation? '
  const query = [...parametersOf(text)].map(([name, value]) => `${name}=${canonicalValue(name, value)}`).sort()
  return `${method} ${decodeURIComponent(own)}?${query.join('&')} ${canonicalBody(body)}`
}

/** Defaults are left out. The last of several values counts, those of `select` are joined. */
export function parametersOf(text: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text.replaceAll('+', '%2B'))) {
    if (name === 'pretty' || (name === 'offset' && value === '0') || (name === 'limit' && value === '500')) continue
    const before = parameters.get(name)
    parameters.set(name, name === 'select' && before !== undefined ? `${before},${value}` : value)
  }
  return parameters
}

const SETS = ['agents_list', 'groups_list', 'nodes_list', 'select', 'status', 'fields']

function canonicalValue(name: string, value: string): string {
  if (name === 'sort') return value.replace(/^\+/, '')
  if (name === 'status') return value.toLowerCase().split(',').sort().join(',')
  if (SETS.includes(name)) return [...new Set(value.split(','))].sort().join(',')
  return value
}

/**
 * JSON with sorted keys; time spans in seconds. A registered agent has the address of the client unless it has another
 * one, and replaces no other agent. Other bodies are compared as they are.
 */
function canonicalBody(body: string | undefined): string {
  if (body === undefined || body === '') return ''
  try {
    const { ip, force, ...fields } = JSON.parse(body) as { ip?: string; force?: { enabled?: boolean } }
    const isDefault = ip === undefined || ip === '127.0.0.1'
    const replaces = force !== undefined && force.enabled !== false
    return JSON.stringify(
      sorted({ ...fields, ...(!isDefault && { ip: ip.toLowerCase() }), ...(replaces && { force }) }),
    )
  } catch {
    return body
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value === 'string') return inSeconds(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, part]) => [name, sorted(part)]),
  )
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function inSeconds(value: string): string {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(value) ?? []
  return count === '' ? value : `${Number(count) * (SECONDS[unit] ?? 1)}s`
}
