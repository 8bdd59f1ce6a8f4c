/** The limits of a caller hold over the ports of both contracts, also without Redis. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

const LIMIT = 10
/** Less than the window of the limit. */
const MAX_BURST_MS = 900
/** Each has its own window, which begins with its first request, and words that no other user has searched. */
const USERS = ['admin', 'operator', 'reader'] as const

t.test('requests of one caller at both ports share one limit', async (t) => {
  const settings = {
    listen: { secondPort: 0 },
    cluster: { layout: 'v4', discover: false, limits: { perMinute: 0 } },
    access: { limits: { requestsPerSecond: LIMIT } },
  }
  const { edge } = await simulated(t, { layout: 'v4', workers: 0, agents: 3 }, { settings })
  const readMisses = async (base: string, authorization: string, word: string): Promise<number> => {
    const all = Array.from({ length: LIMIT }, async (_, at) => {
      const response = await fetch(`${base}/agents?search=${word}${at}`, { headers: { authorization } })
      await response.arrayBuffer()
      return response.status
    })
    return (await Promise.all(all)).filter((status) => status === 200).length
  }
  for (const user of USERS) {
    const begin = performance.now()
    const basic = edge.authorization(user)
    const login = await fetch(`${edge.secondUrl}/security/user/authenticate?raw=true`, {
      method: 'POST',
      headers: { authorization: basic },
    })
    const bearer = `Bearer ${await login.text()}`
    const answered = await Promise.all([
      readMisses(edge.url, basic, `${user}1`),
      readMisses(String(edge.secondUrl), bearer, `${user}2`),
    ])
    // On a busy machine the burst may take longer than the window.
    if (performance.now() - begin > MAX_BURST_MS) continue
    const sum = answered[0] + answered[1]
    t.ok(sum > 0 && sum <= LIMIT, `${answered.join(' and ')} answered within one second`)
    return
  }
  t.comment('no burst within one window')
})
