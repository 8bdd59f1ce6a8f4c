/** Requests of users of the manager that miss at the same time share one call, if the users have the same rights. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { twoReplicas } from './two-replicas.ts'

/** The responses of the master come after all requests, also on busy cores. */
const SLOW = { delay: 2000 }
const PATH = '/agents?sort=-name'

/** Without checks of tokens and probes, which come at any time. */
const readsIn = (calls: readonly { readonly url: string }[]) =>
  calls.filter(({ url }) => url.startsWith('/agents')).length

t.test('users with the same roles share a call, and users with others do not', async (t) => {
  const { simulator, send, logIn } = await twoReplicas(t)
  const [ann, amy, eve, bob] = [await logIn('ann'), await logIn('amy'), await logIn('eve'), await logIn('bob')]
  await simulator.faults.set('master', SLOW)
  const before = simulator.seen.length
  const responses = await Promise.all([ann, amy, ann, amy, eve, bob].map((token) => send(0, PATH, token)))
  t.same(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  )
  t.same(
    responses.map(({ body }) => body.data?.total_affected_items),
    [7, 7, 7, 7, 7, 1],
  )
  t.equal(readsIn(simulator.seen.slice(before)), 3, 'one call for each of the three rights')
})

t.test('if the token of the first user is refused, the others fetch themselves', async (t) => {
  const { simulator, send, logIn } = await twoReplicas(t)
  const [ann, amy] = [await logIn('ann'), await logIn('amy')]
  const other = await logIn('amy', 1)
  for (const token of [ann, amy]) t.equal((await send(0, '/agents', token)).status, 200)
  // Past the edge: the edge takes the token for a good one until its next check.
  simulator.v4?.revokeTokens({ user: 'ann' })
  await simulator.faults.set('master', SLOW)
  const sent = simulator.seen.length
  const first = send(0, PATH, ann)
  await eventually(() => simulator.seen.length > sent)
  const before = simulator.seen.length
  const others = await Promise.all([amy, other, amy].map((token) => send(0, PATH, token)))
  t.equal((await first).status, 401)
  t.same(
    others.map(({ status, body }) => [status, body.data?.total_affected_items]),
    [
      [200, 7],
      [200, 7],
      [200, 7],
    ],
  )
  t.equal(readsIn(simulator.seen.slice(before)), 1, 'they share the second call')
})
