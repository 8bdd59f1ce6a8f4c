import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { program } from '../process/program.ts'

const isInstalled = (name: string): boolean =>
  ['/usr/bin', '/bin', '/usr/sbin'].some((folder) => existsSync(join(folder, name)))
const missing = ['dpkg-deb', 'dpkg', 'systemd-sysusers'].filter((name) => !isInstalled(name))
const noTools = missing.length > 0 && `${missing.join(', ')} not installed`

const run = (file: string, ...args: string[]): string =>
  execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20 })

/** Outside of the repository, whose folder may be closed for other users. */
const folder = mkdtempSync(join(tmpdir(), 'edge-debian-'))
chmodSync(folder, 0o755)
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** Builds without compression. Returns the path of the package. */
function build(name: string): string {
  run('packaging/debian/build', join(folder, name), '-Znone')
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  return join(folder, name, `manager-edge_${version}-1_${run('dpkg', '--print-architecture').trim()}.deb`)
}

t.test('the Debian package', { skip: noTools }, async (t) => {
  const file = build('first')

  await t.test('the same sources give the same bytes', async (t) => {
    t.ok(readFileSync(build('second')).equals(readFileSync(file)))
  })

  await t.test(
    'it contains the program and its dependencies, and neither sources, tests nor the simulator',
    async (t) => {
      const lines = run('dpkg-deb', '--contents', file).trim().split('\n')
      const paths = lines.map((line) => line.split(/\s+/)[5]?.replace(/^\./, '') ?? '')
      const folders = ['etc/manager-edge', 'usr/bin/manager-edge', 'usr/lib/manager-edge', 'usr/lib/systemd/system']
      const allowed = [
        ...folders,
        'usr/lib/sysusers.d',
        'usr/share/doc/manager-edge',
        'usr/share/lintian/overrides',
        'usr/share/man/man1/manager-edge.1.gz',
        'usr/share/bash-completion/completions/manager-edge',
        'usr/share/zsh/vendor-completions/_manager-edge',
        'usr/share/fish/vendor_completions.d/manager-edge.fish',
      ]
      const others = paths.filter(
        (path) => !allowed.some((each) => path.startsWith(`/${each}`) || `/${each}/`.startsWith(path)),
      )
      t.strictSame(others, [])
      const inProgram = paths.filter((path) => path.startsWith('/usr/lib/manager-edge/'))
      t.strictSame(
        inProgram.filter((path) =>
          /^\/usr\/lib\/manager-edge\/(?:src|test|packages|node_modules\/@manager-edge|dist\/simulator)/.test(path),
        ),
        [],
      )
      const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
      for (const name of Object.keys(dependencies))
        t.ok(inProgram.includes(`/usr/lib/manager-edge/node_modules/${name}/package.json`), name)
      const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
      const forDevelopment = ['tap', 'typescript', '@biomejs/biome'].filter((name) => name in devDependencies)
      t.equal(forDevelopment.length, 3)
      for (const name of forDevelopment)
        t.notOk(paths.includes(`/usr/lib/manager-edge/node_modules/${name}/package.json`), name)
      const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
      t.match(run('dpkg-deb', '--field', file, 'Depends'), `nodejs (${engines.node.replace('>=', '>= ')})`)
    },
  )

  const noLintian = !isInstalled('lintian') && 'lintian is not installed'
  await t.test('lintian finds nothing in the files of the project', { skip: noLintian }, async (t) => {
    // Without the 6,000 files of the dependencies, whose check takes minutes.
    const unpacked = join(folder, 'unpacked')
    run('dpkg-deb', '--raw-extract', file, unpacked)
    rmSync(join(unpacked, 'usr/lib/manager-edge/node_modules'), { recursive: true })
    const sums = join(unpacked, 'DEBIAN/md5sums')
    writeFileSync(sums, readFileSync(sums, 'utf8').replaceAll(/^.*\/node_modules\/.*\n/gm, ''))
    const reduced = join(folder, 'manager-edge.deb')
    run('dpkg-deb', '--root-owner-group', '-Zgzip', '-z1', '--build', unpacked, reduced)
    let output = ''
    try {
      run('lintian', '--allow-root', '--fail-on', 'error,warning', reduced)
    } catch (error) {
      output = (error as { stdout: string }).stdout
    }
    t.equal(output, '')
  })

  const noRoot = process.getuid?.() !== 0 && 'only root may run dpkg with another root'
  await t.test('installed, configured, started, upgraded, removed and purged', { skip: noRoot }, async (t) => {
    const root = join(folder, 'root')
    const inside = (path: string) => join(root, path)
    const database = ['/var/lib/dpkg/updates', '/var/lib/dpkg/info', '/etc', '/var/log']
    for (const path of database) mkdirSync(inside(path), { recursive: true })
    writeFileSync(inside('/var/lib/dpkg/status'), '')
    // Maintainer scripts get the folder as DPKG_ROOT. The dependencies are those of this machine.
    // Without `fsync` for each of the 6,000 files.
    const force = ['script-chrootless', 'depends', 'confold', 'unsafe-io'].map((name) => `--force-${name}`)
    const dpkg = (...args: string[]) => run('dpkg', `--root=${root}`, ...force, '--log=/dev/null', ...args)
    const state = () => /^Status: \w+ ok (.*)$/m.exec(readFileSync(inside('/var/lib/dpkg/status'), 'utf8'))?.[1]

    t.match(dpkg('--install', file), 'write /etc/manager-edge/edge.yaml')
    t.equal(state(), 'installed')
    const [, uid = 0, gid = 0] = (
      /^manager-edge:[^:]*:(\d+):(\d+):.*:\/nonexistent:\/usr\/sbin\/nologin$/m.exec(
        readFileSync(inside('/etc/passwd'), 'utf8'),
      ) ?? []
    ).map(Number)
    t.ok(uid > 0 && uid < 1000, 'a system user')
    const { mode, gid: group, uid: owner } = statSync(inside('/etc/manager-edge'))
    t.strictSame([mode & 0o777, owner, group], [0o750, 0, gid], 'only root and the service read the configuration')

    // As README.Debian says. The example names addresses that this machine does not have.
    const simulator = await startSimulator({ workers: 1, agents: 3, username: 'edge', password: 'only-for-tests' })
    t.teardown(() => simulator.close())
    const settings = {
      listen: { port: 0, drain: { delay: '0s', limit: '10s' } },
      operations: { port: 0 },
      cluster: {
        nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })),
        credentials: { username: 'edge', passwordFile: 'secrets/manager' },
      },
      access: { users: 'users', roles: { alice: ['administrator'] }, tokens: { keys: 'keys' } },
      audit: { file: inside('/var/log/manager-edge/audit.jsonl') },
    }
    const cli = inside('/usr/bin/manager-edge')
    const etc = inside('/etc/manager-edge')
    const config = join(etc, 'edge.yaml')
    writeFileSync(config, stringify(settings))
    writeFileSync(join(etc, 'secrets/manager'), 'only-for-tests\n')
    const asRoot = (args: string[], input = '') => program(t, args, { cli, cwd: etc, input }).ended
    t.equal((await asRoot(['user', 'add', 'alice', '--file', 'users', '--cost', '4'], 'password of alice\n')).code, 0)
    t.equal((await asRoot(['token', 'key', 'keys'])).code, 0)
    run('chown', '-R', `0:${gid}`, etc)
    run('chmod', '-R', 'u=rwX,g=rX,o=', etc)
    const log = statSync(inside('/var/log/manager-edge'))
    t.strictSame(
      [log.mode & 0o777, log.uid, log.gid],
      [0o750, uid, gid],
      'the audit file has a folder before the start',
    )
    // As the user of the service, before the first start.
    const checked = await program(t, ['check', '--config', config, '--connect'], { cli, cwd: etc, user: { uid, gid } })
      .ended
    t.equal(checked.code, 0, checked.err)
    t.match((await asRoot(['demo'])).err, 'not included in this installation')
    t.match((await asRoot(['--version'])).out, JSON.parse(readFileSync('package.json', 'utf8')).version)

    const unit = readFileSync(inside('/usr/lib/systemd/system/manager-edge.service'), 'utf8')
    t.notMatch(unit, /\/opt\/|\/etc\/edge/)
    const [node, ...words] = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? []
    t.equal(node, '/usr/bin/node')
    const at = words.findIndex((word) => word.endsWith('.js'))
    const edge = program(
      t,
      words.slice(at + 1).map((word) => (word.startsWith('/') ? inside(word) : word)),
      {
        node: words.slice(0, at),
        cli: inside(words[at] ?? ''),
        user: { uid, gid },
      },
    )
    const [, url = ''] = await edge.until(/"url":"([^"]+)"/)
    const headers = { authorization: `Basic ${btoa('alice:password of alice')}` }
    t.equal((await fetch(`${url}/agents`, { headers })).status, 200)
    t.equal((await fetch(`${url}/agents/001/restart`, { method: 'PUT', headers })).status, 200)
    edge.child.kill('SIGTERM')
    t.equal((await edge.ended).code, 0)
    const audit = inside('/var/log/manager-edge/audit.jsonl')
    t.match(readFileSync(audit, 'utf8'), 'restart', 'the service writes its audit file')

    chmodSync(etc, 0o700)
    t.notMatch(dpkg('--install', file), 'write /etc', 'an upgrade')
    t.equal(statSync(etc).mode & 0o777, 0o700, 'changes of the administrator stay')
    dpkg('--remove', 'manager-edge')
    t.equal(state(), 'config-files')
    for (const path of [config, join(etc, 'users'), audit]) t.ok(existsSync(path), `${path} stays`)
    t.notOk(existsSync(inside('/usr/lib/manager-edge')))
    dpkg('--purge', 'manager-edge')
    for (const path of [etc, inside('/var/log/manager-edge')]) t.notOk(existsSync(path), `${path} is purged`)
  })
})
