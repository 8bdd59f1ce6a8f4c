import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { program } from '../process/program.ts'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
/** Outside of the repository, so that no dependency of it is found. */
const folder = mkdtempSync(join(tmpdir(), 'edge-npm-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const npm = (args: readonly string[], cwd: string) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

// The program was built before the tests: without --ignore-scripts, `npm pack` would build it again.
const packed = npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], '.')
const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]

t.test('a release can be published, with a fresh build', async (t) => {
  t.notOk(manifest.private)
  t.equal(manifest.scripts.prepack, 'npm run build')
})

t.test('the tarball contains the program, its configuration and documents, and nothing else', async (t) => {
  const allowed = [
    /^dist\/.+\.(?:js|js\.map)$/,
    /^dist\/libraries\/.+\/package\.json$/,
    /^dist\/commit$/,
    /^dist\/(?:console|mcp|reference)\/(?:LICENSES\.txt|bundled\.json)$/,
    /^dist\/console\/(?:index\.html|assets\/[\w.-]+)(?:\.br|\.gz)?$/,
    /^dist\/reference\/(?:openapi(?:-v4)?\.json|docs[\w-]*\.html|static\/[\w./-]+)$/,
    /^config\/[\w.-]+$/,
    /^config\/(?:grafana|prometheus|systemd)\/[\w.@-]+$/,
    /^docs\/(?:decisions\/)?[\w-]+\.md$/,
    /^docs\/images\/[\w-]+\.png$/,
    /^(?:README|CHANGELOG|SECURITY)\.md$/,
    /^(?:LICENSE|package\.json)$/,
  ]
  const others = files.map(({ path }) => path).filter((path) => !allowed.some((each) => each.test(path)))
  t.strictSame(others, [])
  t.notOk(
    files.some(({ path }) => path === 'config/compose.yaml'),
    'the files for containers need the repository',
  )
})

t.test('installed in an empty folder, the command runs', async (t) => {
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{}')
  try {
    npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--fetch-retries=0', join('..', filename)], project)
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const offline = /ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.exec(stderr)
    if (offline === null) throw error
    t.pass('not installed', { skip: `the dependencies are neither cached nor reachable (${offline[0]})` })
    return
  }
  const cli = join(project, 'node_modules/.bin/manager-edge')
  const printed = execFileSync(cli, ['--version'], { cwd: project, encoding: 'utf8' })
  t.match(printed, /^[\d.]+ \(commit [0-9a-f]{12}\)\n$/)
  t.ok(printed.startsWith(`${manifest.version} `))

  const demo = program(
    t,
    ['demo', '--port', '0', '--operations-port', '0', '--agents', '3', '--user-password', 'only-for-tests'],
    { cli, cwd: project },
  )
  const [, operations = ''] = await demo.until(/operations on (\S+)/)
  await demo.until(/Press Ctrl-C to stop/)
  t.equal((await fetch(`${operations}/readyz`)).status, 200)
  const headers = { authorization: `Basic ${btoa('admin:only-for-tests')}` }
  for (const path of ['/console/', '/docs', '/openapi.json'])
    t.equal((await fetch(operations + path, { headers })).status, 200, `the package contains ${path}`)
  demo.child.kill('SIGINT')
  t.equal((await demo.ended).code, 0)

  const example = join(project, 'node_modules/manager-edge/config/edge.example.yaml')
  const checked = await program(t, ['check', '--config', example], { cli, cwd: project }).ended
  t.equal(checked.code, 2, 'the files that the example names do not exist')
  t.match(checked.err, /access\.users.*cannot be read/)
})
