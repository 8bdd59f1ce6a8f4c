/** Requests for every endpoint of the contract: legal ones and illegal ones, each parameter alone. */
import { type ContractEndpoint, contract } from '../facts.ts'
import { illegalRequests } from './illegal.ts'
import { legalParameters, unknownObjects } from './legal.ts'
import { type ContractRequest, type Make, plain, urlOf } from './plain.ts'

/**
 * Returns all requests for an endpoint. Illegal requests come first, so that the objects that they name still exist.
 * `row` is a row of the plain response: filters take their values from it.
 */
export function requestsFor(endpoint: ContractEndpoint, row: unknown): ContractRequest[] {
  const request: Make = (what, url, rest = {}) => ({ ...plain(endpoint), what, url, ...rest })
  const unknown = request('an unknown parameter', urlOf(endpoint, { nosuch: '1' }))
  const requests = [
    ...illegalRequests(endpoint, request),
    ...unknownObjects(endpoint, request),
    ...legalParameters(endpoint, row, request),
    endpoint.unknown_query_rejected ? { ...unknown, error: 604 } : unknown,
    plain(endpoint),
  ]
  return requests.map((one, at) => (endpoint.method === 'GET' || one.error !== undefined ? one : onOwnObject(one, at)))
}

/** Gives each write another agent, and another name to create: no write finds what another one has changed. */
function onOwnObject(request: ContractRequest, at: number): ContractRequest {
  const { url, body, endpoint } = request
  const agent = WRITTEN_AGENTS[at % WRITTEN_AGENTS.length]
  const isCreated = /^(?:POST \/agents(?:\/insert)?|PUT \/agents\/(?::agent_name|groups\/:group_id))$/.test(endpoint.id)
  return {
    ...request,
    url: (isCreated ? url.replace(/(fresh|by-name)/, `$1${at || ''}`) : url).replace(
      /^(\/agents|\/active-response|\/syscheck|\/rootcheck)\/1(?=\/|\?|$)/,
      `$1/${agent}`,
    ),
    ...(isCreated && body && { body: { type: body.type, text: withNumber(body.text, at) } }),
  }
}

const WRITTEN_AGENTS = [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13]

function withNumber(text: string, at: number): string {
  const { name, ip: _, id, ...fields } = JSON.parse(text) as Readonly<Record<string, unknown>>
  return JSON.stringify({
    ...fields,
    name: `${name}-${at}`,
    ip: `10.8.0.${at}`,
    ...(id !== undefined && { id: `${id}${at}` }),
  })
}

/** All endpoints of the contract: reads first, and removals last, because other requests need the objects. */
export const endpoints: readonly ContractEndpoint[] = [0, 1, 2, 3].flatMap((turn) =>
  contract.endpoints.filter((endpoint) => turnOf(endpoint) === turn),
)

function turnOf({ method, id }: ContractEndpoint): number {
  if (method === 'GET') return 0
  if (method !== 'DELETE') return 1
  return /^DELETE \/agents(?:\/:agent_id)?$/.test(id) ? 3 : 2
}
