/** Release 5.0 blocks only the logins of an address: calls with a token go on, and no login is sent for as long as it lasts. */
import t from 'tap'
import { clusterOf, fakeNode, get } from '../fake-node.ts'
import { ofRelease5 } from '../release-5-node.ts'
import { rows, sendJson } from '../v4-node.ts'
import { as, outcomeOf } from './v4-node.ts'

const BLOCK = { title: 'Permission Denied', detail: 'Limit of login attempts reached.', error: 6000 }

for (const [release, isEjected] of [
  ['5.0.0', false],
  ['4.5.4', true],
] as const) {
  t.test(`release ${release}`, async (t) => {
    let isBlocking = false
    let offset = 0
    const answer = ofRelease5(rows([]), release)
    const { url, seen } = await fakeNode(t, (request, response) => {
      if (isBlocking && request.url === '/security/user/authenticate') sendJson(response, 403, BLOCK)
      else answer(request, response)
    })
    const cluster = clusterOf(t, url, {
      layout: 'v4',
      credentials: { mode: 'passthrough' },
      loginInterval: 0,
      clock: () => performance.now() + offset,
    })
    const logins = () => seen.filter((call) => call.url === '/security/user/authenticate').length
    const ask = async (user: string) => outcomeOf(await cluster.call(get('/agents', as(user, 'pass'))))
    await cluster.start()
    t.equal(await ask('ann'), 200)
    await cluster.call(get('/', as('ann', 'pass')))
    isBlocking = true
    t.equal(await ask('bob'), isEjected ? 'blocked' : 'loginsBlocked')
    t.equal(await ask('ann'), isEjected ? 'ejected' : 200)
    if (isEjected) return
    const before = logins()
    offset = 290_000
    t.equal(await ask('eve'), 'loginsBlocked')
    t.equal(logins(), before)
    isBlocking = false
    offset = 310_000
    t.equal(await ask('eve'), 200)
  })
}
