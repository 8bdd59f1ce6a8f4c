/** An installation may leave the console out: the edge starts without it. */
import t from 'tap'
import { program } from '../process/program.ts'
import { installWithout } from './incomplete-installation.ts'

const CONSOLE = ['console', 'console-server']

t.test('without a console, the edge serves clients, probes, metrics, problems and the cache', async (t) => {
  const { config, cli } = await installWithout(t, CONSOLE)
  const edge = program(t, ['start', '--config', config], { cli })
  const [, operations = '', url = ''] = await edge.until(/"operationsUrl":"([^"]+)","url":"([^"]+)"/)
  const headers = { authorization: `Basic ${btoa('admin:admin-pw')}` }
  const textOf = async (address: string, status: number) => {
    const response = await fetch(address, { headers })
    t.equal(response.status, status, address)
    return response.text()
  }
  t.match(await textOf(`${url}/agents?limit=1`, 200), '"totalItems":4')
  t.match(await textOf(`${url}/cache`, 200), '"agents"')
  t.match(await textOf(`${operations}/readyz`, 200), /\S/)
  t.match(await textOf(`${operations}/metrics`, 200), 'http_server_request_duration_seconds_count{')
  t.match(await textOf(`${operations}/api/problems`, 200), '"problems"')
  t.match(await textOf(`${operations}/`, 404), /^No console is installed/)
  t.match(await textOf(`${operations}/api/now`, 404), '"error":603')
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 0)
})

t.test('check and start name the sign-ins that need the console', async (t) => {
  const redirectUrl = 'https://edge.example/sign-in/callback'
  const signIn = {
    issuer: 'https://issuer.example',
    clientId: 'edge',
    redirectUrl,
    roles: { admins: ['administrator'] },
  }
  const { config, cli } = await installWithout(t, CONSOLE, { signIn })
  const sentence = 'no console is installed: operations.signIn has no effect'
  const check = program(t, ['check', '--config', config], { cli })
  await check.until(new RegExp(sentence))
  t.equal((await check.ended).code, 0)
  const edge = program(t, ['start', '--config', config], { cli })
  await edge.until(new RegExp(`"warning":"${sentence}"`))
  await edge.until(/"operationsUrl"/)
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 0)
})
