/** Files of the ruleset of a cluster of the v4 layout are streamed to clients. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

t.test('a file is text/xml as the node has it, and a missing one is 404 with error 700', async (t) => {
  const { edge, simulator } = await simulated(
    t,
    { layout: 'v4', agents: 3 },
    { settings: { cluster: { layout: 'v4' } } },
  )
  const headers = { authorization: edge.authorization('admin') }
  const file = await fetch(`${edge.url}/rules/files?download=local_rules.xml`, { headers })
  t.equal(file.status, 200)
  t.match(file.headers.get('content-type'), /^text\/xml/)
  t.equal(await file.text(), simulator.world.nodes[0]?.files.get('etc/rules/local_rules.xml'))
  const missing = await fetch(`${edge.url}/decoders/files?download=nope.xml`, { headers })
  t.equal(missing.status, 404)
  t.same(await missing.json(), { error: 700, message: 'File not found: nope.xml' })
})
