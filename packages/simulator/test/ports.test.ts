/** Clients that use `fetch` reach every port that a server of the simulator may get. */
import t from 'tap'
import { randomPort } from '../src/listener.ts'

/** Of the ports that `fetch` refuses (Fetch standard, "bad port"). */
const LAST_REFUSED = 10_080
const DRAWS = 200_000

t.test('no port is one that fetch refuses', async (t) => {
  await t.rejects(fetch(`http://127.0.0.1:${LAST_REFUSED}/`), { cause: { message: 'bad port' } })
  const ports = Array.from({ length: DRAWS }, randomPort)
  t.ok(new Set(ports).size > 20_000)
  t.strictSame(
    ports.filter((port) => port <= LAST_REFUSED),
    [],
  )
})
