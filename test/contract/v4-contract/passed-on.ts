/** What a recorded request that the manager carried out must lead to. */
import { isDeepStrictEqual } from 'node:util'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { type DescribedOperation, describedOperations } from './description.ts'
import type { Outcome, SeenCall } from './edge-and-node.ts'
import type { ContractExchange } from './exchanges.ts'

const operations = new Map(describedOperations().map((operation) => [operation.endpoint, operation]))

/** Returns what differs from the recorded request and response; none: they are alike. */
export function differencesOfPassedOn(exchange: ContractExchange, outcome: Outcome): readonly string[] {
  const { calls } = outcome
  const [call] = calls
  return [
    ...(calls.length === 1 ? [] : [`${calls.length} calls`]),
    ...(call === undefined ? [] : differencesOfCall(exchange, call)),
    ...differencesOfResponse(exchange, outcome),
  ]
}

function differencesOfResponse({ response }: ContractExchange, { status, type, text }: Outcome): readonly string[] {
  const { status: wanted, headers, body } = response
  return [
    ...(status === wanted ? [] : [`status ${status} instead of ${wanted}: ${text.slice(0, 300)}`]),
    ...(type === headers['content-type'] ? [] : [`${type} instead of ${headers['content-type']}`]),
    ...(isDeepStrictEqual(parsed(text), parsed(body))
      ? []
      : [`${text.slice(0, 300)} instead of ${body.slice(0, 300)}`]),
  ]
}

function differencesOfCall({ operation, request }: ContractExchange, call: SeenCall): readonly string[] {
  const described = operations.get(operation ?? '')
  const wanted = partsOf(request.method, request.path, described)
  const sent = partsOf(call.method, call.path, undefined)
  const { contentType, body = '' } = request
  return [
    ...(isDeepStrictEqual(sent, wanted) ? [] : [`call ${JSON.stringify(sent)} instead of ${JSON.stringify(wanted)}`]),
    ...(body === '' || call.type === contentType ? [] : [`${call.type} instead of ${contentType}`]),
    ...(isDeepStrictEqual(parsed(call.body), parsed(body)) ? [] : [`body ${call.body} instead of ${body}`]),
  ]
}

/**
 * Method, decoded path and parameters. `described`: then without what the edge does not send, which are empty values,
 * defaults and the form of the response.
 */
function partsOf(method: string, path: string, described: DescribedOperation | undefined): object {
  const { searchParams } = new URL(path, 'http://node')
  const query = Object.fromEntries(searchParams)
  for (const [name, text] of Object.entries(query)) {
    const isDefault = described !== undefined && text === String(described.query[name]?.default)
    if (text === '' || isDefault || name === 'pretty' || (name === 'wait_for_complete' && text === 'false')) {
      delete query[name]
    }
  }
  return { method, path: partsOfPath(path).split('/').map(decodeURIComponent), query }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const stored: ReadonlySet<string> = new Set(
  v4Contract
    .filter((record) => record.method === 'GET' && 'group' in record.cache)
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`),
)

/** As `differencesOfPassedOn`, for the same request once more: a stored response needs no call. */
export function differencesOfRepetition(exchange: ContractExchange, outcome: Outcome): readonly string[] {
  const wanted = isStored(exchange) ? 0 : 1
  const { length } = outcome.calls
  return [
    ...(length === wanted ? [] : [`${length} calls instead of ${wanted} for the second request`]),
    ...differencesOfResponse(exchange, outcome),
  ]
}

/** Whether the record and the response allow that the response is stored. Refusals by rights (4000) are. */
function isStored({ operation, request, response }: ContractExchange): boolean {
  const name = operation ?? `${request.method} ${partsOfPath(request.path)}`
  // Without `fields` the response contains the key of each agent.
  if (name === 'GET /agents/stats/distinct' && !request.path.includes('fields=')) return false
  const { error } = parsed(response.body) as { readonly error?: number }
  return stored.has(name) && error === (response.status === 200 ? 0 : 4000)
}

function partsOfPath(path: string): string {
  return new URL(path, 'http://node').pathname.replace(/(.)\/$/, '$1')
}
