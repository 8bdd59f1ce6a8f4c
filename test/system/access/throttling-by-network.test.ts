/** Failed logins are counted for the network of the client, however its address is written, and whatever a client claims. */
import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const
const FAILURES = 3
const PROXIES = ['127.0.0.1']
/** Then the first block ends, and one more attempt is allowed. */
const FIRST_BLOCK_MS = 1000

t.test('an attacker who changes addresses within a network, or forges headers, stays blocked', async (t) => {
  const start = async (trustedProxies: readonly string[]) => {
    const settings = {
      listen: { trustedProxies },
      cluster: { discover: false },
      access: { limits: { failedLogins: FAILURES } },
    }
    const edge = await startEdge({ nodes, settings })
    t.teardown(() => edge.close())
    return async (user: string, headers: Readonly<Record<string, string>>) => {
      const authorization = `Basic ${btoa(`${user}:guess ${Math.random()}`)}`
      return (await fetch(`${edge.url}/agents`, { headers: { authorization, ...headers } })).status
    }
  }
  /**
   * Fails at the same time, so that no failure fades before the next one. Returns how many were not blocked in a burst that
   * was over before the first block.
   */
  const tried = async (
    trustedProxies: readonly string[],
    user: string,
    headers: (attempt: number) => Readonly<Record<string, string>>,
  ) => {
    let statuses: number[] = []
    await eventually(async () => {
      const statusOf = await start(trustedProxies)
      const begin = performance.now()
      statuses = await Promise.all(Array.from({ length: 4 * FAILURES }, (_, at) => statusOf(user, headers(at))))
      return performance.now() - begin < FIRST_BLOCK_MS
    })
    t.ok(statuses.every((status) => status === 401 || status === 429))
    return statuses.filter((status) => status === 401).length
  }
  const forged: Readonly<Record<string, (attempt: number) => Readonly<Record<string, string>>>> = {
    'X-Forwarded-For': (attempt) => ({ 'x-forwarded-for': `198.51.100.${attempt}` }),
    Forwarded: (attempt) => ({ forwarded: `for=198.51.100.${attempt}` }),
    'X-Real-IP': (attempt) => ({ 'x-real-ip': `198.51.100.${attempt}`, 'true-client-ip': `198.51.100.${attempt}` }),
  }
  for (const [what, headers] of Object.entries(forged))
    t.equal(await tried([], `victim of ${what}`, headers), FAILURES, `${what} from a client that is no trusted proxy`)

  const networks: Readonly<Record<string, (attempt: number) => string>> = {
    'addresses of one IPv6 network of 64 bits': (attempt) => `2001:db8:1:2:${attempt.toString(16)}::${attempt}`,
    'spellings of one IPv6 address': (attempt) =>
      ['2001:db8:9::1', '2001:0DB8:0009:0000:0000:0000:0000:0001', '2001:db8:9:0::1'][attempt % 3] ?? '',
    'spellings of one IPv4 address': (attempt) =>
      ['203.0.113.9', '::ffff:203.0.113.9', '::FFFF:cb00:7109', '0:0:0:0:0:ffff:cb00:7109'][attempt % 4] ?? '',
    'forged addresses in front of the one that the proxy has added': (attempt) => `198.51.100.${attempt}, 203.0.113.7`,
    'forged proxies in front of it': (attempt) => `198.51.100.${attempt}, 127.0.0.1, 203.0.113.8`,
  }
  for (const [what, address] of Object.entries(networks)) {
    const count = await tried(PROXIES, `victim of ${what}`, (attempt) => ({ 'x-forwarded-for': address(attempt) }))
    t.equal(count, FAILURES, what)
  }
  const other = await tried(PROXIES, 'victim of two networks', (attempt) => ({
    'x-forwarded-for': `2001:db8:1:${attempt % 2}::1`,
  }))
  t.equal(other, 2 * FAILURES, 'another network has its own count')
})
