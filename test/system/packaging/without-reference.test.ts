/** An installation may leave the reference out: the edge starts without it. */
import t from 'tap'
import { program } from '../process/program.ts'
import { installWithout } from './incomplete-installation.ts'

t.test('without the reference, its paths are unknown on both listeners, and the console is served', async (t) => {
  const { config, cli } = await installWithout(t, ['reference', 'reference-server'])
  const edge = program(t, ['start', '--config', config], { cli })
  const [, operations = '', url = ''] = await edge.until(/"operationsUrl":"([^"]+)","url":"([^"]+)"/)
  const headers = { authorization: `Basic ${btoa('admin:admin-pw')}` }
  const paths = ['/openapi.json', '/openapi-v4.json', '/docs', '/docs/json', '/docs-v4/static/swagger-ui.css']
  for (const address of [`${url}/openapi.json`, ...paths.map((path) => operations + path)]) {
    const response = await fetch(address, { headers })
    t.equal(response.status, 404, address)
    t.match(await response.json(), { error: 603 }, address)
  }
  t.equal((await fetch(`${operations}/console/`, { headers })).status, 200)
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 0)
})
