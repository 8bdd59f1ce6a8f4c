import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import { engines, type Packages, run, version } from './build.ts'
import { checkContents, checkService, serviceUser } from './system-package.ts'

/** Writes an empty rpm with these tags. Returns its path. */
function writeStub(folder: string, name: string, ...tags: string[]): string {
  const spec = join(folder, `${name}.spec`)
  const head = [`Name: ${name}`, 'Release: 1', 'Summary: stub', 'License: none', 'BuildArch: noarch', ...tags]
  writeFileSync(spec, `${head.join('\n')}\n%description\n%files\n`)
  const target = join(folder, 'stubs', `${name}${tags.join()}`.replaceAll(/\W/g, ''))
  run('rpmbuild', '-bb', '--quiet', '--define', `_topdir ${folder}/build`, '--define', `_rpmdir ${target}`, spec)
  return run('find', target, '-name', '*.rpm').trim()
}

export async function checkRpm(t: Test, { folder, first, second }: Packages): Promise<void> {
  const file = first.rpm

  await t.test('the same sources give the same bytes', async (t) => {
    t.equal(basename(file), `manager-edge-${version}-1.${run('rpm', '--eval', '%{_target_cpu}').trim()}.rpm`)
    t.ok(readFileSync(second.rpm).equals(readFileSync(file)))
  })

  await t.test(
    'it contains the program and its dependencies, and neither sources, tests nor the simulator',
    async (t) => {
      const lines = run('rpm', '-qp', '--qf', '[%{FILENAMES} %{FILEUSERNAME} %{FILEGROUPNAME}\n]', file)
        .trim()
        .split('\n')
      const others = ['usr/share/licenses/manager-edge/LICENSE', 'usr/share/zsh/site-functions', 'var/log/manager-edge']
      const paths = lines.map((line) => line.split(' ')[0] ?? '')
      checkContents(t, paths, others)
      t.strictSame(lines.filter((line) => !line.endsWith(' root root')).sort(), [
        '/etc/manager-edge root manager-edge',
        '/etc/manager-edge/secrets root manager-edge',
        '/var/log/manager-edge manager-edge manager-edge',
      ])
      t.equal(run('rpm', '-qp', '--configfiles', file), '/etc/manager-edge/edge.example.yaml\n')
    },
  )

  await t.test('it requires the supported Node.js, whatever the epoch of its package is', async (t) => {
    const oldest = engines.node.replace('>=', '')
    const others = writeStub(folder, 'others', 'Version: 1', 'Provides: systemd', 'Provides: /bin/sh')
    const database = ['--root', join(folder, 'empty'), '--dbpath', '/var/lib/rpm']
    mkdirSync(join(folder, 'empty'))
    const tried = (node: string) => run('rpm', ...database, '--install', '--test', file, others, node)
    const distribution = (of: string) =>
      writeStub(folder, 'nodejs', 'Epoch: 1', `Version: ${of}`, `Provides: nodejs(engine) = ${of}`)
    const project = (of: string) => writeStub(folder, 'nodejs', 'Epoch: 2', `Version: ${of}`)
    for (const node of [distribution, project]) {
      t.equal(tried(node(oldest)), '')
      t.throws(() => tried(node('18.20')), /nodejs.* is needed by manager-edge/)
    }
  })

  const noRoot = process.getuid?.() !== 0 && 'only root may mount folders'
  await t.test('installed, configured, started, upgraded and removed', { skip: noRoot }, async (t) => {
    const root = join(folder, 'rpm-root')
    const changes = join(folder, 'changes')
    const inside = (path: string) => join(root, path)
    for (const path of [root, changes]) mkdirSync(path)
    /**
     * Runs rpm and then `script` in this system, with the files of `root` over it. Changes are in memory: `script` keeps them by
     * copying `upper` to `root`. So the scripts of the rpm have the programs of this system, and change nothing of it.
     */
    const inSystem = (args: string, script: string): string =>
      run(
        'unshare',
        '--mount',
        'bash',
        '-euc',
        `mount -t tmpfs -o mode=755 tmpfs ${changes}
        mkdir ${changes}/{upper,work,system}
        cp -a ${root}/. ${changes}/upper
        mount -t overlay overlay -o lowerdir=/,upperdir=${changes}/upper,workdir=${changes}/work ${changes}/system
        cd ${changes}
        rpm --root ${changes}/system --dbpath /var/lib/edge-test-rpm ${args}
        ${script}`,
      )
    // The dependencies are those of this machine.
    const install = (options: string) => inSystem(`--nodeps ${options} '${file}'`, `cp -a upper/. ${root}`)

    t.match(install('--install'), 'write /etc/manager-edge/edge.yaml')
    const { uid, gid } = serviceUser(root)
    const { mode, gid: group, uid: owner } = statSync(inside('/etc/manager-edge'))
    t.strictSame([mode & 0o777, owner, group], [0o750, 0, gid], 'only root and the service read the configuration')
    await checkService(t, { root, uid, gid })

    const example = inside('/etc/manager-edge/edge.example.yaml')
    writeFileSync(example, 'changed\n')
    t.notMatch(install('--upgrade --replacepkgs --replacefiles'), 'write /etc', 'an upgrade')
    t.equal(readFileSync(example, 'utf8'), 'changed\n', 'changes of the administrator stay')
    const left = inSystem(
      '--erase manager-edge',
      'cd system; find etc/manager-edge var/log/manager-edge usr/lib/manager-edge || :',
    )
    for (const path of ['etc/manager-edge/edge.yaml', 'etc/manager-edge/users', 'var/log/manager-edge/audit.jsonl'])
      t.match(left, `${path}\n`, `${path} stays`)
    t.notMatch(left, 'usr/lib/manager-edge')
    t.ok(existsSync(inside('/usr/lib/manager-edge')), 'the removal was in memory')
  })
}
