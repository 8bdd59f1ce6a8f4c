/** Sends recorded requests to a simulated cluster, with the credentials that each of them had. */
import { request as send } from 'node:http'
import type { Simulator } from '../../../src/index.ts'
import type { Response } from './compare.ts'
import type { RecordedExchange } from './exchanges.ts'
import { PASSWORD } from './world.ts'

export interface Client {
  ask(exchange: RecordedExchange): Promise<Response>
}

const ADMINISTRATOR = 'wazuh'

/** Logs each user in at each node once, and again where the recording goes on after the end of a token. */
export function createClient(simulator: Simulator): Client {
  const tokens = new Map<string, string>()
  const urlOf = (name: string) => simulator.nodes.find((node) => node.name === name)?.url ?? ''
  const basicOf = (user: string) => `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`
  const logIn = async (user: string, node: string) => {
    const url = `${urlOf(node)}/security/user/authenticate?raw=true`
    const { status, body } = await call(url, 'POST', { authorization: basicOf(user) }, '')
    if (status === 200) tokens.set(`${user} ${node}`, body)
    return status === 200 ? body : 'none'
  }
  const authorizationOf = async ({ user, node, note }: RecordedExchange): Promise<string | undefined> => {
    if (user === 'basic') return basicOf(ADMINISTRATOR)
    if (user !== null) {
      const name = user === 'administrator' ? ADMINISTRATOR : user
      return `Bearer ${tokens.get(`${name} ${node}`) ?? (await logIn(name, node))}`
    }
    if (note === 'broken Basic') return 'Basic !'
    if (note === 'garbage token') return 'Bearer x.y.z'
    return note?.startsWith('no ') ? undefined : `Bearer ${tokens.get('probe0 master') ?? 'x'}`
  }
  const askOnce = async (exchange: RecordedExchange) => {
    const { node, request } = exchange
    const authorization = await authorizationOf(exchange)
    const body = (request.body ?? '').replaceAll('<PASSWORD>', PASSWORD)
    const headers = {
      ...(authorization === undefined ? {} : { authorization }),
      ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
    }
    // The simulated agents have another policy than the recorded ones.
    const path = request.path.replace('/checks/cis_debian12', '/checks/cis_debian9_L1')
    const response = await call(urlOf(node) + path, request.method, headers, body)
    // A client follows this redirection.
    return response.location === undefined ? response : call(urlOf(node) + response.location, 'GET', headers, '')
  }
  return {
    ask: async (exchange) => {
      const response = await askOnce(exchange)
      const { user, node, request } = exchange
      // The token of this user is from before the changes of its roles and its password.
      if (request.method === 'POST' && request.body?.includes('"probe0"')) await logIn('probe0', 'master')
      if (response.status !== 401 || exchange.response.status === 401 || user === null) return response
      tokens.delete(`${user === 'administrator' ? ADMINISTRATOR : user} ${node}`)
      return askOnce(exchange)
    },
  }
}

export function call(url: string, method: string, headers: Record<string, string>, body: string) {
  const { origin } = new URL(url)
  const sent = body === '' ? headers : { ...headers, 'content-length': `${Buffer.byteLength(body)}` }
  return new Promise<Response & { readonly location?: string }>((resolve, reject) => {
    const request = send(origin, { method, headers: sent, path: url.slice(origin.length) }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { location } = response.headers
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks).toString('utf8'),
          ...(location === undefined ? {} : { location }),
        })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}
