/** What the Debian package and the rpm promise alike, checked in the folder into which they are installed. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { program } from '../../process/program.ts'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))

/** Beginnings of the paths of both packages. */
const COMMON_PATHS = [
  'etc/manager-edge',
  'usr/bin/manager-edge',
  'usr/lib/manager-edge',
  'usr/lib/systemd/system',
  'usr/lib/sysusers.d',
  'usr/share/doc/manager-edge',
  'usr/share/man/man1/manager-edge.1.gz',
  'usr/share/bash-completion/completions/manager-edge',
  'usr/share/fish/vendor_completions.d/manager-edge.fish',
]

/** Compares the absolute paths of a package with those that it may and must have. `others` are further beginnings. */
export function checkContents(t: Test, paths: readonly string[], others: readonly string[]): void {
  const allowed = [...COMMON_PATHS, ...others]
  const unknown = paths.filter(
    (path) => !allowed.some((each) => path.startsWith(`/${each}`) || `/${each}/`.startsWith(path)),
  )
  t.strictSame(unknown, [])
  for (const each of allowed)
    t.ok(
      paths.some((path) => path.startsWith(`/${each}`)),
      each,
    )
  const inProgram = paths.filter((path) => path.startsWith('/usr/lib/manager-edge/'))
  const unwanted = /^\/usr\/lib\/manager-edge\/(?:src|test|packages|node_modules\/@manager-edge|dist\/simulator)/
  t.strictSame(
    inProgram.filter((path) => unwanted.test(path)),
    [],
  )
  const { dependencies, devDependencies } = manifest
  for (const name of Object.keys(dependencies))
    t.ok(inProgram.includes(`/usr/lib/manager-edge/node_modules/${name}/package.json`), name)
  const forDevelopment = ['tap', 'typescript', '@biomejs/biome'].filter((name) => name in devDependencies)
  t.equal(forDevelopment.length, 3)
  for (const name of forDevelopment)
    t.notOk(paths.includes(`/usr/lib/manager-edge/node_modules/${name}/package.json`), name)
  t.ok(paths.includes('/usr/share/doc/manager-edge/sbom.cdx.json'), 'the bill of materials')
}

/** Returns the user that the installation created in `root`. */
export function serviceUser(root: string): { readonly uid: number; readonly gid: number } {
  const users = readFileSync(join(root, 'etc/passwd'), 'utf8')
  const [, uid = 0, gid = 0] = (
    /^manager-edge:[^:]*:(\d+):(\d+):.*:\/nonexistent:\/usr\/sbin\/nologin$/m.exec(users) ?? []
  ).map(Number)
  if (!(uid > 0 && uid < 1000)) throw new Error(`no system user manager-edge: ${users}`)
  return { uid, gid }
}

/** Configures the installed service as its README says, starts the command of its unit as its user, and stops it. */
export async function checkService(t: Test, installation: { root: string; uid: number; gid: number }): Promise<void> {
  const { root, uid, gid } = installation
  const inside = (path: string) => join(root, path)
  // The example names addresses that this machine does not have.
  const simulator = await startSimulator({ workers: 1, agents: 3, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const audit = inside('/var/log/manager-edge/audit.jsonl')
  const settings = {
    listen: { port: 0, drain: { delay: '0s', limit: '10s' } },
    operations: { port: 0 },
    cluster: {
      nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username: 'edge', passwordFile: 'secrets/manager' },
    },
    access: { users: 'users', roles: { alice: ['administrator'] }, tokens: { keys: 'keys' } },
    audit: { file: audit },
  }
  const cli = inside('/usr/bin/manager-edge')
  const etc = inside('/etc/manager-edge')
  const config = join(etc, 'edge.yaml')
  writeFileSync(config, stringify(settings))
  writeFileSync(join(etc, 'secrets/manager'), 'only-for-tests\n')
  const asRoot = (args: string[], input = '') => program(t, args, { cli, cwd: etc, input }).ended
  t.equal((await asRoot(['user', 'add', 'alice', '--file', 'users', '--cost', '4'], 'password of alice\n')).code, 0)
  t.equal((await asRoot(['token', 'key', 'keys'])).code, 0)
  execFileSync('chown', ['-R', `0:${gid}`, etc])
  execFileSync('chmod', ['-R', 'u=rwX,g=rX,o=', etc])
  const log = statSync(inside('/var/log/manager-edge'))
  t.strictSame([log.mode & 0o777, log.uid, log.gid], [0o750, uid, gid], 'the audit file has a folder before the start')
  // As the user of the service, before the first start.
  const user = { uid, gid }
  const checked = await program(t, ['check', '--config', config, '--connect'], { cli, cwd: etc, user }).ended
  t.equal(checked.code, 0, checked.err)
  t.match((await asRoot(['demo'])).err, 'not included in this installation')
  t.match((await asRoot(['--version'])).out, manifest.version)

  const unit = readFileSync(inside('/usr/lib/systemd/system/manager-edge.service'), 'utf8')
  const template = readFileSync(inside('/usr/lib/systemd/system/manager-edge@.service'), 'utf8')
  for (const text of [unit, template]) t.notMatch(text, /\/opt\/|\/etc\/edge/)
  t.match(template, 'EnvironmentFile=-/etc/manager-edge/%i.env\n')
  const [node, ...words] = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? []
  t.equal(node, '/usr/bin/node')
  const at = words.findIndex((word) => word.endsWith('.js'))
  const args = words.slice(at + 1).map((word) => (word.startsWith('/') ? inside(word) : word))
  const edge = program(t, args, { node: words.slice(0, at), cli: inside(words[at] ?? ''), user })
  const [, url = ''] = await edge.until(/"url":"([^"]+)"/)
  const headers = { authorization: `Basic ${btoa('alice:password of alice')}` }
  t.equal((await fetch(`${url}/agents`, { headers })).status, 200)
  t.equal((await fetch(`${url}/agents/001/restart`, { method: 'PUT', headers })).status, 200)
  edge.child.kill('SIGTERM')
  const ended = await edge.ended
  t.equal(ended.code, 0, ended.out + ended.err)
  t.match(readFileSync(audit, 'utf8'), 'restart', 'the service writes its audit file')
}
