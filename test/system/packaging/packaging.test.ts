import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import type { FastifyServerFactory } from 'fastify'
import t from 'tap'
import { createOperationsListener } from '../../../src/admin/listener.ts'
import { installed } from '../../support/installed.ts'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const dockerfile = readFileSync('Dockerfile', 'utf8')

/** Runs a program that may fail. Returns its exit code and its output. */
function call(file: string, args: readonly string[], options: { input?: string; env?: NodeJS.ProcessEnv } = {}) {
  return new Promise<{ code: number; output: string }>((resolve) => {
    const child = execFile(file, args, { env: { ...process.env, ...options.env } }, (fault, out, err) =>
      resolve({ code: fault ? Number(fault.code) : 0, output: out + err }),
    )
    // A program that does not read its input may end before the input is written.
    child.stdin?.on('error', () => undefined).end(options.input ?? '')
  })
}

t.test('the Dockerfile is well-formed, and the image runs without root', async (t) => {
  t.strictSame(
    validate(dockerfile).map((problem) => problem.message),
    [],
  )
  t.not(validate('FROM node\nCMDD x').length, 0, 'a planted fault is found')
  const [build = '', run = ''] = dockerfile.split(/^FROM /m).slice(1)
  t.match(build, /^node:24-bookworm-slim AS build/)
  t.match(build, /npm ci --ignore-scripts/)
  t.match(build, /npm prune --omit=dev/)
  t.match(run, /^node:24-bookworm-slim\n/)
  t.match(run, /^USER \d+:\d+$/m)
  t.notMatch(run, /USER (?:0|root)\b/)
  t.match(run, /^HEALTHCHECK [^\n]*CMD \["node", "config\/healthcheck\.mjs"\]$/m)
  t.match(run, /^ENTRYPOINT \["node",[^\n]*"dist\/cli\.js"\]$/m)
  t.notMatch(dockerfile, /\b(?:curl|wget|apt-get)\b/)
})

t.test('every file that the Dockerfile copies exists, and only these files are sent to the builder', async (t) => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => (match[1] ?? '').split(' '))
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
  t.equal(
    ignored.find((line) => line !== '' && !line.startsWith('#')),
    '*',
    'everything else is ignored',
  )
  for (const name of copied) {
    t.ok(existsSync(name), `${name} exists`)
    t.ok(ignored.includes(`!${name}`), `${name} is sent`)
  }
  for (const line of ignored.filter((each) => each.startsWith('!')))
    t.ok(copied.includes(line.slice(1)), `${line} is copied`)
})

t.test('the health check requests /livez of the operations listener, with HTTP or HTTPS', async (t) => {
  const pair = (name: string) => readFileSync(`test/support/certificates/first.${name}`)
  const secure: FastifyServerFactory = (handler) => createServer({ cert: pair('crt'), key: pair('key') }, handler)
  for (const server of [{}, { serverFactory: secure }]) {
    const ready = () => ({ ok: true, reasons: [] })
    const log = { error: () => undefined }
    const app = await createOperationsListener({ ready, degradations: () => [], log, server })
    t.teardown(() => app.close())
    const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
    const check = () => call(process.execPath, ['config/healthcheck.mjs'], { env: { EDGE_OPERATIONS_PORT: port } })
    t.strictSame(await check(), { code: 0, output: '' })
    await app.close()
    t.equal((await check()).code, 1)
  }
})

t.test('the built code imports only declared dependencies', async (t) => {
  const files = readdirSync('dist', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  const needed = new Set<string>()
  for (const name of files) {
    const text = readFileSync(join('dist', name), 'utf8')
    for (const match of text.matchAll(
      /(?:^|[\s;])(?:import|export)\b[^'";]*?from ["']([^"']+)["']|\bimport\(["']([^"']+)["']\)/g,
    )) {
      const specifier = match[1] ?? match[2] ?? ''
      if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier)) continue
      needed.add(
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
      )
    }
  }
  const declared = Object.keys(manifest.dependencies)
  t.ok(needed.size > 5, 'imports were found')
  t.strictSame(
    [...needed].filter((name) => !declared.includes(name)),
    [],
  )
  for (const [name, version] of Object.entries(manifest.dependencies)) t.match(version, /^\d/, `${name} is pinned`)
})

t.test('the package contains the program, its configuration and documents, and no sources or tests', async (t) => {
  t.strictSame(manifest.bin, { 'manager-edge': 'dist/cli.js' })
  t.match(readFileSync('dist/cli.js', 'utf8'), /^#!\/usr\/bin\/env node\n/)
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  const names: string[] = packed.files.map((file: { path: string }) => file.path)
  for (const name of [
    'dist/cli.js',
    'config/default.yaml',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'docs/contract-decisions.md',
  ])
    t.ok(names.includes(name), name)
  t.strictSame(
    names.filter((name) => /^(?:src|test|\.)/.test(name)),
    [],
  )
  // Operators who have the package but not the repository follow these links. The other documents are for developers.
  for (const name of names.filter((name) => /^docs\/[a-z-]+\.md$/.test(name) && name !== 'docs/architecture.md')) {
    for (const [, link = ''] of readFileSync(name, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]+\.md)/g)) {
      const target = join('docs', link)
      t.ok(names.includes(target), `${name}: ${target} is in the package`)
    }
  }
  t.match(readFileSync('LICENSE', 'utf8'), /Apache License\s+Version 2\.0, January 2004/)
})

t.test('the lock file is complete, names no registry, and npm ci prints no warning', async (t) => {
  const check = (file: string) => call(process.execPath, ['.ci/check-lock.mjs', file])
  t.equal((await check('package-lock.json')).code, 0)
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const folder = t.testdir({})
  const planted = async (change: (packages: Record<string, Record<string, unknown>>) => void) => {
    const copy = structuredClone(lock)
    change(copy.packages)
    writeFileSync(join(folder, 'lock.json'), JSON.stringify(copy))
    return check(join(folder, 'lock.json'))
  }
  const binary = Object.keys(lock.packages).find((path) => path.includes('@node-rs/bcrypt-')) ?? ''
  const dropped = await planted((packages) => delete packages[binary])
  t.equal(dropped.code, 1)
  t.match(dropped.output, `lacks its optional package ${binary.replace('node_modules/', '')}`)
  const resolved = await planted((packages) =>
    Object.assign(packages[binary] ?? {}, { resolved: 'https://registry.example/x' }),
  )
  t.equal(resolved.code, 1)
  t.match(resolved.output, 'names a registry address')
  for (const [entry, fault] of [
    [{ engines: { node: '>=22' } }, 'needs Node >=22, not 20.20.0'],
    [{ engines: { node: '^20 || ^24' } }, 'needs Node ^20 || ^24, not 22.22.2'],
    [{ deprecated: 'use another' }, 'is deprecated: use another'],
  ] as const) {
    const warned = await planted((packages) => Object.assign(packages['node_modules/fastify'] ?? {}, entry))
    t.match(warned, { code: 1, output: `node_modules/fastify ${fault}` })
  }
})

t.test('.ci/run executes all checks in order', async (t) => {
  t.ok(statSync('.ci/run').mode & 0o100, 'it may be run')
  t.strictSame(await call('bash', ['-n', '.ci/run']), { code: 0, output: '' }, 'it is bash')
  const run = readFileSync('.ci/run', 'utf8')
  const steps = [...run.matchAll(/^(?:npm|node) .*$/gm)].map(([line]) => line)
  t.strictSame(steps, [
    'npm ci --ignore-scripts',
    'node .ci/check-lock.mjs',
    'npm run lint',
    'npm run types',
    'npm test --silent -- --all',
  ])
})

t.test('the HAProxy configuration is valid', async (t) => {
  const haproxy = readFileSync('config/haproxy.cfg', 'utf8')
  for (const name of ['edge-1', 'edge-2']) t.match(haproxy, `server ${name} ${name}:55000`)
  t.match(haproxy, 'uri /readyz')
  const program = installed({ variable: 'HAPROXY', names: ['haproxy'], package: 'haproxy' })
  const perCore = join(t.testdir({}), 'haproxy.cfg')
  writeFileSync(perCore, haproxy.replaceAll(/^ {4}# (?=server )/gm, '    '))
  for (const file of ['config/haproxy.cfg', perCore]) {
    const checked = await call(program, ['-c', '-f', file])
    t.equal(checked.code, 0, checked.output)
  }
})
