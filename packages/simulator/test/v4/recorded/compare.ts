/** Compares a simulated response with a recorded one. */
import { type ContractExchange, isCut } from '../../../../../test/contract/v4-contract/exchanges.ts'
import { parseBody, type V4Body, type V4Reply } from '../ask.ts'

/** Member paths of the items with their types: `os.name: string`. */
export type Shape = ReadonlySet<string>

/** Returns what differs, one text for each aspect; `[]`: the responses agree. */
export function compareOutcome({ response }: ContractExchange, simulated: V4Reply): string[] {
  const recorded = parseBody(response.body)
  const found = simulated.json
  const pairs: readonly (readonly [aspect: string, recorded: unknown, simulated: unknown])[] = [
    ['status', response.status, simulated.status],
    ['type', mediaType(response.headers['content-type']), mediaType(simulated.headers['content-type'])],
    // The recording has only the beginning of long bodies.
    ...(isCut(response.body)
      ? []
      : ([['outcome', recorded && outcomeOf(recorded), found && outcomeOf(found)]] as const)),
  ]
  return pairs.flatMap(([aspect, expected, actual]) => {
    const [a, b] = [JSON.stringify(expected), JSON.stringify(actual)]
    return a === b ? [] : [`${aspect}: ${a} != ${b}`]
  })
}

function mediaType(type: string | undefined): string {
  return (type ?? '').split(';')[0] ?? ''
}

/** Everything of a response but its rows. Folders, hosts and moments are those of the recorded machine. */
function outcomeOf(body: V4Body): unknown {
  const { title, detail, remediation, message, error, data } = body
  const failed = data?.failed_items?.map(({ error, id }) => ({ ...sorted(error), id }))
  return sorted({
    title,
    detail,
    remediation,
    message,
    error,
    failed,
    nodes: nodesOf(body),
    list: data?.affected_items === undefined ? undefined : data.affected_items.length > 0,
  })
}

/** Which process refuses for want of a permission depends on the installation: two real ones differ. */
function nodesOf(body: V4Body): unknown {
  return body.error === 4000 ? undefined : sorted((body as { dapi_errors?: object }).dapi_errors ?? {})
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns the members of the items of a successful response. */
export function shapeOf(body: string): Shape {
  const shape = new Set<string>()
  const data = parseBody(body)?.data
  for (const item of data?.affected_items ?? (data === undefined ? [] : [data])) addValue(shape, '', item)
  return shape
}

function addValue(shape: Set<string>, path: string, value: unknown): void {
  if (Array.isArray(value)) {
    shape.add(`${path}: list`)
    for (const member of value) addValue(shape, `${path}[]`, member)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) addValue(shape, `${path}.${name}`, inner)
  } else {
    shape.add(`${path}: ${value === null ? 'null' : typeof value}`)
  }
}

/** Returns items and total of a deterministic response, in a form in which equal ones are equal. */
export function contentOf(body: string): string {
  const { data } = parseBody(body) ?? {}
  return canonical(data ?? null)
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, inner]) => `${name}:${canonical(inner)}`).join()}}`
}
