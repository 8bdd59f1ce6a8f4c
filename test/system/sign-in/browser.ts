/** What a browser does in a sign-in, without a browser: cookies, redirects that the test follows, and pages. */

import { request } from 'undici'

export interface Visit {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Where a redirect leads. */
  readonly location: string
}

interface Init {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface TestBrowser {
  /** Cookies by name. */
  readonly cookies: Map<string, string>
  /** Attributes of each cookie that was set, by name. */
  readonly attributes: Map<string, string>
  open(url: string, headers?: Readonly<Record<string, string>>): Promise<Visit>
  /** Sends a form of a page of the edge. */
  send(
    url: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Visit>
}

/** `edgeUrl`: cookies are sent to this origin only. */
export function createTestBrowser(edgeUrl: string): TestBrowser {
  const cookies = new Map<string, string>()
  const attributes = new Map<string, string>()
  async function send(url: string, { headers, ...init }: Init): Promise<Visit> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const isEdge = url.startsWith(edgeUrl)
    // A separate connection: on a busy machine, the edge closes idle connections just before the next request.
    const response = await request(url, {
      ...init,
      headers: { accept: 'text/html,*/*;q=0.8', ...(isEdge && cookie !== '' && { cookie }), ...headers },
      reset: true,
    })
    for (const line of [response.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = '', rest = ''] = /^([^=]+)=([^;]*); (.*)$/.exec(line) ?? []
      if (/Max-Age=0/.test(rest)) cookies.delete(name)
      else {
        cookies.set(name, value)
        attributes.set(name, rest)
      }
    }
    const location = String(response.headers.location ?? '')
    return {
      status: response.statusCode,
      headers: response.headers,
      text: await response.body.text(),
      location: location === '' ? '' : new URL(location, url).href,
    }
  }
  return {
    cookies,
    attributes,
    open: (url, headers = {}) => send(url, { method: 'GET', headers }),
    send: (url, fields, headers = {}) =>
      send(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: edgeUrl,
          'sec-fetch-site': 'same-origin',
          ...headers,
        },
        body: new URLSearchParams(fields).toString(),
      }),
  }
}
