import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import { installed } from '../../../support/installed.ts'
import { engines, type Packages, run, version } from './build.ts'
import { checkContents, checkService, serviceUser } from './system-package.ts'

const lintian = installed({ variable: 'LINTIAN', names: ['lintian'], package: 'lintian' })

export async function checkDebianPackage(t: Test, { folder, first, second }: Packages): Promise<void> {
  const file = first.deb

  await t.test('the same sources give the same bytes', async (t) => {
    t.equal(basename(file), `manager-edge_${version}-1_${run('dpkg', '--print-architecture').trim()}.deb`)
    t.ok(readFileSync(second.deb).equals(readFileSync(file)))
  })

  await t.test(
    'it contains the program and its dependencies, and neither sources, tests nor the simulator',
    async (t) => {
      const lines = run('dpkg-deb', '--contents', file).trim().split('\n')
      const paths = lines.map((line) => line.split(/\s+/)[5]?.replace(/^\./, '') ?? '')
      checkContents(t, paths, ['usr/share/lintian/overrides', 'usr/share/zsh/vendor-completions/_manager-edge'])
      t.match(run('dpkg-deb', '--field', file, 'Depends'), `nodejs (${engines.node.replace('>=', '>= ')})`)
    },
  )

  await t.test('lintian finds nothing in the files of the project', async (t) => {
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
      run(lintian, '--allow-root', '--fail-on', 'error,warning', reduced)
    } catch (error) {
      output = (error as { stdout: string }).stdout
    }
    t.equal(output, '')
  })

  const noRoot = process.getuid?.() !== 0 && 'only root may run dpkg with another root'
  await t.test('installed, configured, started, upgraded, removed and purged', { skip: noRoot }, async (t) => {
    const root = join(folder, 'debian-root')
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
    const { uid, gid } = serviceUser(root)
    const { mode, gid: group, uid: owner } = statSync(inside('/etc/manager-edge'))
    t.strictSame([mode & 0o777, owner, group], [0o750, 0, gid], 'only root and the service read the configuration')

    await checkService(t, { root, uid, gid })

    const etc = inside('/etc/manager-edge')
    const audit = inside('/var/log/manager-edge/audit.jsonl')
    chmodSync(etc, 0o700)
    t.notMatch(dpkg('--install', file), 'write /etc', 'an upgrade')
    t.equal(statSync(etc).mode & 0o777, 0o700, 'changes of the administrator stay')
    dpkg('--remove', 'manager-edge')
    t.equal(state(), 'config-files')
    for (const path of [join(etc, 'edge.yaml'), join(etc, 'users'), audit]) t.ok(existsSync(path), `${path} stays`)
    t.notOk(existsSync(inside('/usr/lib/manager-edge')))
    dpkg('--purge', 'manager-edge')
    for (const path of [etc, inside('/var/log/manager-edge')]) t.notOk(existsSync(path), `${path} is purged`)
  })
}
