/** Responses of nodes with the v4 layout, for fake nodes. */
import type { RequestListener, ServerResponse } from 'node:http'

const LOGIN = '/security/user/authenticate'

/** A token of these claims with a signature that no one verifies. */
function createToken(): string {
  const now = Math.floor(Date.now() / 1000)
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  return [
    encode({ alg: 'ES512', typ: 'JWT' }),
    encode({ sub: 'edge', iat: now, nbf: now, exp: now + 900 }),
    'c2ln',
  ].join('.')
}

/** Answers a login with a token, and leaves all other requests to the listener. */
export function withLogin(listener: RequestListener): RequestListener {
  return (request, response) => {
    const path = request.url?.split('?')[0]
    if (path === LOGIN) sendJson(response, 200, { data: { token: createToken() }, error: 0 })
    else listener(request, response)
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const type = status === 200 ? 'application/json' : 'application/problem+json'
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(JSON.stringify(value))
}

/** Answers every request with these rows. */
export const rows =
  (items: readonly unknown[]): RequestListener =>
  (_, response) =>
    sendJson(response, 200, {
      data: { affected_items: items, total_affected_items: items.length, total_failed_items: 0, failed_items: [] },
      message: 'All selected items were returned',
      error: 0,
    })

/** A worker that has lost its master. */
export const withoutMaster: RequestListener = (_, response) =>
  sendJson(response, 400, {
    title: 'Wazuh Cluster Error',
    detail: 'Worker node is not connected to master',
    error: 3023,
  })
