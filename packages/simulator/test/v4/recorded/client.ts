/** Sends recorded requests to a simulated cluster, with the credentials that each of them had. */
import type { ContractExchange } from '../../../../../test/contract/v4-contract/exchanges.ts'
import type { Simulator } from '../../../src/index.ts'
import { basic, call, type V4Reply } from '../ask.ts'
import { PASSWORD } from './world.ts'

export interface Client {
  ask(exchange: ContractExchange): Promise<V4Reply>
}

const ADMINISTRATOR = 'wazuh'
/** The user of exchanges that name none, but have a token. */
const PROBE = 'probe0'
/** In place of a secret of an agent. */
const KEY = 'a1'.repeat(32)

/**
 * Logs each user in at each node once, and again where the recording goes on after the end of a token. `passTime`: called
 * after a login, so that what follows is later. `front`: the URL of all requests; absent: those of the nodes.
 */
export function createClient(simulator: Simulator, passTime: () => void, front?: string): Client {
  const tokens = new Map<string, string>()
  // The recording of release 5.0 names the only node with an API by its type.
  const urlOf = (name: string) =>
    front ?? simulator.nodes.find((node) => node.name === name || node.type === name)?.url ?? ''
  const logIn = async (user: string, node: string) => {
    const url = `${urlOf(node)}/security/user/authenticate?raw=true`
    const { status, text } = await call(url, 'POST', { authorization: basic(user, PASSWORD) })
    passTime()
    if (status === 200) tokens.set(`${user} ${node}`, text)
    return status === 200 ? text : 'none'
  }
  const authorizationOf = async ({ user, node, note }: ContractExchange): Promise<string | undefined> => {
    if (user === 'basic') return basic(ADMINISTRATOR, PASSWORD)
    if (user !== null) {
      const name = user === 'administrator' ? ADMINISTRATOR : user
      return `Bearer ${tokens.get(`${name} ${node}`) ?? (await logIn(name, node))}`
    }
    if (note === 'broken Basic') return 'Basic !'
    if (note === 'garbage token') return 'Bearer x.y.z'
    return note?.startsWith('no ') ? undefined : `Bearer ${tokens.get(`${PROBE} master`) ?? 'x'}`
  }
  const askOnce = async (exchange: ContractExchange) => {
    const { node, request } = exchange
    const authorization = await authorizationOf(exchange)
    const body = (request.body ?? '')
      .replaceAll('<PASSWORD>', PASSWORD)
      .replaceAll('<KEY>', KEY)
      .replace(/^<(\d+) bytes>$/, (_, bytes: string) => `{"name":"${'x'.repeat(Number(bytes) - 11)}"}`)
    const headers = {
      ...(authorization === undefined ? {} : { authorization }),
      ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
    }
    // The simulated agents have another policy than the recorded ones.
    const path = request.path.replace('/checks/cis_debian12', '/checks/cis_debian9_L1')
    const response = await call(urlOf(node) + path, request.method, headers, body)
    // A client follows this redirection.
    const { location } = response.headers
    return location === undefined || exchange.response.status === response.status
      ? response
      : call(urlOf(node) + location, 'GET', headers)
  }
  return {
    ask: async (exchange) => {
      const response = await askOnce(exchange)
      const { user, node, request } = exchange
      // The token of this user is from before the changes of its roles and its password.
      if (request.method === 'POST' && response.status === 200 && request.body?.includes('"probe0"'))
        await logIn(PROBE, 'master')
      if (response.status !== 401 || exchange.response.status === 401) return response
      if (user === null) {
        // Before this user exists, its login would be refused, which an edge remembers for seconds.
        if (!tokens.has(`${PROBE} master`)) return response
        await logIn(PROBE, 'master')
        return askOnce(exchange)
      }
      tokens.delete(`${user === 'administrator' ? ADMINISTRATOR : user} ${node}`)
      return askOnce(exchange)
    },
  }
}
