import t from 'tap'
import { parse } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { program, result } from './program.ts'

interface Settings {
  readonly cluster: {
    readonly nodes: readonly { readonly name: string; readonly type: string; readonly url: string }[]
    readonly credentials: { readonly username: string; readonly password: string }
  }
}

t.test('simulate runs a cluster alone and prints the settings of an edge in front of it', async (t) => {
  const port = await freePort()
  const args = ['simulate', '--workers', '1', '--agents', '7', '--port', String(port), '--password', 'of the nodes']
  const simulated = program(t, args)
  await simulated.until(/Press Ctrl-C to stop/)
  const { cluster } = parse(simulated.output()) as Settings
  t.strictSame(cluster.nodes, [
    { name: 'master', type: 'master', url: `http://127.0.0.1:${port}` },
    { name: 'worker-1', type: 'worker', url: `http://127.0.0.1:${port + 1}` },
  ])
  const authorization = `Basic ${btoa('edge:of the nodes')}`
  for (const { url } of cluster.nodes) {
    const response = await fetch(`${url}/agents/000?select=id`, { headers: { authorization } })
    t.same(await response.json(), { error: 0, data: { id: '000' } }, url)
  }

  const second = await result(t, args)
  t.equal(second.code, 1)
  t.equal(second.err, `port ${port} is in use; choose another first port with --port\n`)

  simulated.child.kill('SIGINT')
  t.equal((await simulated.ended).code, 0)
  t.equal(simulated.output().includes('warning'), false)
})
