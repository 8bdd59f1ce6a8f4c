/** The registers of the upstream in the form of the v4 layout. The value of a register is the member `registerIP` of an agent. */

export interface Registers {
  readonly values: ReadonlyMap<string, number>
  /** Increments a register. Returns its new value. */
  increment(agent: string): number
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** `onAction` gets the register that a call has read or written. */
export function answerV4(
  method: string,
  url: URL,
  registers: Registers,
  onAction: (agent: string, value: number) => void,
): Answer {
  const { pathname, searchParams } = url
  if (pathname === '/security/user/authenticate') return success({ token: createToken() })
  if (pathname === '/') return success({ title: 'API', api_version: '4.5.4', hostname: 'master', timestamp: TIME })
  const written = /^\/agents\/(\d+)\/group\//.exec(pathname)?.[1]
  if (method === 'PUT' && written !== undefined) {
    const value = registers.increment(written)
    onAction(written, value)
    return items([written], 1, `value ${value}`)
  }
  if (method !== 'GET' || pathname !== '/agents') return problem(404, 'Not Found')
  const named = searchParams.get('agents_list')?.split(',')
  const all = named ?? [...registers.values.keys()]
  const above = /^id>(\d+)$/.exec(searchParams.get('q') ?? '')?.[1] ?? ''
  const rows = all.filter((id) => id > above).map((id) => ({ id, value: registers.values.get(id) ?? 0 }))
  if (searchParams.get('sort')?.startsWith('-')) rows.sort((one, other) => (one.id < other.id ? 1 : -1))
  else rows.sort((one, other) => (one.id < other.id ? -1 : 1))
  const offset = Number(searchParams.get('offset') ?? 0)
  const page = rows.slice(offset, offset + Number(searchParams.get('limit') ?? 500))
  if (named?.length === 1) for (const { id, value } of page) onAction(id, value)
  return items(
    page.map(({ id, value }) => ({ id, name: `agent-${id}`, registerIP: String(value), status: 'active' })),
    rows.length,
    'All selected agents information was returned',
  )
}

const TIME = '2024-01-01T00:00:00Z'
const TOKEN_SECONDS = 900

function createToken(): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'wazuh', sub: 'edge', nbf: now, exp: now + TOKEN_SECONDS, rbac_roles: [1], rbac_mode: 'white' }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  return `${encode({ alg: 'ES512', typ: 'JWT' })}.${encode(claims)}.signature`
}

function items(affected: readonly unknown[], total: number, message: string): Answer {
  const data = { affected_items: affected, total_affected_items: total, total_failed_items: 0, failed_items: [] }
  return { ...success(data), text: JSON.stringify({ data, message, error: 0 }) }
}

function success(data: object): Answer {
  return { status: 200, type: 'application/json; charset=utf-8', text: JSON.stringify({ data, error: 0 }) }
}

function problem(status: number, title: string): Answer {
  return { status, type: 'application/problem+json; charset=utf-8', text: JSON.stringify({ title, detail: title }) }
}
