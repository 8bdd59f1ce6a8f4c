/** Counts of agents are stored if they name fields that are no secrets; without fields, they contain the keys of all agents. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

const STORED = ['fields=os.name', 'fields=os.platform,version&limit=3', 'fields=group&sort=-count']
const NEVER = [
  '',
  'fields=',
  'limit=2',
  'fields=internal_key',
  'fields=os.name,INTERNAL_KEY',
  'fields=os.name&q=internal_key~9',
]

t.test('both contracts', async (t) => {
  const settings = { listen: { secondPort: 0 }, cluster: { layout: 'v4' } }
  const { edge } = await simulated(t, { layout: 'v4', workers: 0, agents: 12 }, { settings })
  const login = { method: 'POST', headers: { authorization: edge.authorization('admin') } }
  const token = await (await fetch(`${edge.secondUrl}/security/user/authenticate?raw=true`, login)).text()
  const ports = [
    { url: edge.url, headers: { authorization: edge.authorization('admin') } },
    { url: edge.secondUrl ?? '', headers: { authorization: `Bearer ${token}` } },
  ]
  for (const { url, headers } of ports) {
    const read = async (query: string) => {
      const response = await fetch(`${url}/agents/stats/distinct?${query}`, { headers })
      return { text: await response.text(), cache: response.headers.get('cache-status') ?? '' }
    }
    for (const query of STORED) {
      const first = await read(query)
      const second = await read(query)
      t.match(second.cache, /hit/, query)
      t.equal(second.text, first.text)
      t.notMatch(first.text, 'internal_key')
    }
    for (const query of NEVER) {
      await read(query)
      t.notMatch((await read(query)).cache, /hit/, query)
    }
  }
})
