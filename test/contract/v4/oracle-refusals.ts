/** Which v3 requests the edge refuses without a call, by the contract alone. */
import { contract } from '../facts.ts'
import type { V3Request } from './v3-request.ts'

interface Param {
  readonly name: string
  readonly validator: string
  readonly note?: string
}

/** Error codes that the refusal may have; undefined: the edge passes the request on. */
export function refusalOf(request: V3Request): readonly number[] | undefined {
  const endpoint = contract.endpoints.find(({ id }) => id === request.endpoint)
  if (endpoint === undefined) return undefined
  const codes = [
    ...(endpoint.path_params ?? []).flatMap((param: Param) => faultOf(param, request.params[param.name])),
    // A segment of dots only is none.
    ...(Object.values(request.params).some((value) => /^\.+$/.test(value)) ? [601, 603] : []),
    ...(endpoint.query_params ?? []).flatMap((param: Param) => faultOf(param, request.query[param.name])),
    ...pageFault(request),
    ...pathFault(request),
    ...(removesDefault(request) ? [1712] : []),
    ...(endpoint.path.endsWith('/upgrade_custom') && !('installer' in request.query) ? [1307] : []),
    ...('field' in request.query && !('section' in request.query) ? [604] : []),
    ...bodyFaults(request, endpoint.body),
  ]
  return codes.length === 0 ? undefined : codes
}

/** The group of all agents stays. */
const removesDefault = ({ endpoint, params, query }: V3Request) =>
  /^DELETE \/agents\/groups/.test(endpoint) && `${params.group_id ?? query.ids}`.split(',').includes('default')

const UNCHECKED = ['flag', 'empty_boolean', 'format', 'ips', 'none']

function faultOf({ validator, name }: Param, value: string | true | undefined): number[] {
  if (value === undefined || value === true) return []
  // The edge checks node names everywhere.
  const kind = name === 'node_id' ? 'names' : validator.replace(/ .*/, '')
  if (kind === 'query') return /[:/'"]/.test(value) ? [622] : []
  if (kind === 'hashes') return /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$/i.test(value) ? [] : [613]
  if (UNCHECKED.includes(kind)) return []
  const rule = contract.meta.validators[kind]
  if (rule === undefined) throw new Error(`${name}: no validator ${kind}`)
  return new RegExp(rule.pattern).test(value) ? [] : [Number(rule.error)]
}

function pageFault({ query, endpoint }: V3Request): number[] {
  const { limit } = query
  if (typeof limit !== 'string' || !/^\d+$/.test(limit) || endpoint.endsWith('/files') === true) return limitZero(query)
  return Number(limit) === 0 ? [1406] : Number(limit) > 1000 && !endpoint.startsWith('GET /lists') ? [1405] : []
}

const limitZero = ({ limit }: V3Request['query']) => (limit === '0' ? [1406] : [])

/** Files outside the folders, names that are no file of a folder, and lists in a folder that a node cannot write to. */
function pathFault({ query: { path }, endpoint }: V3Request): number[] {
  if (typeof path !== 'string' || !/(?:manager|:node_id)\/files$/.test(endpoint)) return []
  if (!endpoint.startsWith('GET') && /^etc\/lists\/.*\//.test(path)) return [938]
  const isFile =
    /^(?:etc|ruleset)\/(?:rules|decoders)\/[\w./-]+\.xml$/.test(path) ||
    /^etc\/lists\/[\w./-]+$/.test(path) ||
    path === 'etc/ossec.conf'
  return isFile && !path.includes('..') ? [] : [704, 608]
}

type Body = NonNullable<(typeof contract.endpoints)[number]['body']>

function bodyFaults({ body }: V3Request, rule: Body | undefined): number[] {
  if (body === undefined || rule === undefined) return []
  if (body.type === 'application/xml') return isXml(body.text) ? [] : [703, 607, 1112]
  if (body.type === 'application/octet-stream') return isList(body.text) ? [] : [705, 607]
  const fields = JSON.parse(body.text) as Record<string, unknown>
  const known = rule.params.map(({ name }) => name)
  const unknown = Object.keys(fields).some((name) => !known.includes(name))
  // Without a command the node answers 1650.
  const missing = rule.params.some(
    ({ name, constraint }) => constraint.startsWith('mandatory') && name !== 'command' && !(name in fields),
  )
  const codes = unknown || missing ? [604] : []
  for (const { name, type } of rule.params) {
    const value = fields[name]
    if (value === undefined) continue
    if (type === 'String' && typeof value !== 'string') codes.push(604, 614, ...codesOf(name))
    else if (typeof value === 'string' && !isValid(name, value)) codes.push(...codesOf(name))
    else if (Array.isArray(value) && name === 'ids' && !value.every((id) => /^\d+$/.test(String(id)))) codes.push(616)
  }
  return codes
}

const codesOf = (name: string): number[] =>
  ({ name: [601], ip: [606], id: [600], key: [615], command: [601, 604, 608, 609] })[name] ?? []

function isValid(name: string, value: string): boolean {
  switch (name) {
    case 'name':
      return /^[A-Za-z0-9_.-]+$/.test(value)
    case 'ip':
      return /^any$/i.test(value) || isAddress(value)
    case 'id':
      return /^\d+$/.test(value)
    case 'key':
      return /^[A-Za-z0-9]+$/.test(value)
    case 'command':
      return /^!?[A-Za-z0-9_./:-]+$/.test(value)
    default:
      return true
  }
}

function isAddress(value: string): boolean {
  const [address = '', prefix] = value.split('/')
  const parts = address.split('.')
  const isPrefix = prefix === undefined || (/^\d{1,2}$/.test(prefix) && Number(prefix) <= 32)
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256) && isPrefix
}

/** Enough for the recorded bodies: a document that closes the elements which it opens. */
function isXml(text: string): boolean {
  const open: string[] = []
  for (const [, closing, name = '', , selfClosing] of text
    .replaceAll(/<!--.*?-->/gs, '')
    .matchAll(/<(\/?)([A-Za-z_][\w.-]*)((?:\s[^<>]*?)?)(\/?)>/g)) {
    if (closing === '/') {
      if (open.pop() !== name) return false
    } else if (selfClosing !== '/') open.push(name)
  }
  return open.length === 0 && text.trimStart().startsWith('<')
}

const isList = (text: string) =>
  text !== '' &&
  text
    .split('\n')
    .slice(0, -1)
    .every((line) => line.trim() === '' || /^[^:]+:[^:]*$/.test(line))
