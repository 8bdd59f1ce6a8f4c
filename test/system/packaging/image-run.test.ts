import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { putUser } from '../../../src/access/users-file.ts'

const IMAGE = 'manager-edge:under-test'
const docker = promisify(execFile)

/** Returns why no image can be built here, or false. */
function whyNot(): string | false {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 20_000 })
    return process.platform === 'linux' ? false : 'containers share the network of this machine on Linux only'
  } catch {
    return 'no container daemon is reachable; the Dockerfile is only linted'
  }
}

t.test('the image is built, serves a cluster, is healthy and stops gracefully', { skip: whyNot() }, async (t) => {
  await docker('docker', ['build', '--tag', IMAGE, '.'], { maxBuffer: 64 << 20 })
  t.teardown(() => docker('docker', ['image', 'rm', '--force', IMAGE]))

  const account = { username: 'edge', password: 'only-for-tests' }
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
  t.teardown(() => simulator.close())
  const folder = mkdtempSync(join(tmpdir(), 'edge-image-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const settings = {
    listen: { port: 0, drain: { delay: '0s', limit: '10s' } },
    operations: { port: 0 },
    cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
    access: { users: 'users', roles: { alice: ['administrator'] } },
  }
  writeFileSync(join(folder, 'edge.yaml'), stringify(settings))
  await putUser(join(folder, 'users'), 'alice', 'password of alice', 4)
  // User 10001 of the image reads the folder.
  for (const [path, mode] of [
    ['.', 0o755],
    ['edge.yaml', 0o644],
    ['users', 0o644],
  ] as const)
    chmodSync(join(folder, path), mode)

  const name = `manager-edge-test-${process.pid}`
  const limits = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
  const mount = ['--volume', `${folder}:/etc/edge:ro`]
  const args = ['run', '--name', name, '--network', 'host', ...limits, ...mount, IMAGE]
  const container = spawn('docker', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => docker('docker', ['rm', '--force', name]).catch(() => undefined))
  const ended = once(container, 'close')

  let urls: { url: string; operationsUrl: string } | undefined
  for await (const line of createInterface({ input: container.stdout })) {
    const { url, operationsUrl } = JSON.parse(line)
    if (url === undefined || operationsUrl === undefined) continue
    urls = { url, operationsUrl }
    break
  }
  if (urls === undefined) throw new Error(`the container ended with ${(await ended)[0]}`)
  container.stdout.resume()
  const headers = { authorization: `Basic ${btoa('alice:password of alice')}` }
  t.equal((await fetch(`${urls.url}/agents`, { headers })).status, 200)

  const port = `EDGE_OPERATIONS_PORT=${new URL(urls.operationsUrl).port}`
  const check = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1] ?? '[]'
  await docker('docker', ['exec', '--env', port, name, ...(JSON.parse(check) as string[])])
  t.pass('the health check succeeds')

  await docker('docker', ['stop', '--time', '35', name])
  t.equal((await ended)[0], 0, 'a graceful shutdown')
})
