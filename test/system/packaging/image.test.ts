import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

/** Runs the command line of a folder that has the layout of the image. */
function runCli(folder: string, args: readonly string[]) {
  return new Promise<{ code: number; out: string; err: string }>((done) => {
    const cli = [join(folder, 'dist/cli.js'), ...args]
    execFile(process.execPath, ['--disable-proto=throw', ...cli], (error, out, err) =>
      done({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

t.test('the image has no simulator, and only the commands that simulate a cluster miss it', async (t) => {
  const [build = ''] = readFileSync('Dockerfile', 'utf8')
    .split(/^FROM /m)
    .slice(1)
  const removed = /npm run build && rm -r (\S+)/.exec(build)?.[1] ?? ''
  t.equal(removed, 'dist/simulator')
  t.ok(existsSync(removed), 'the build has a simulator to remove')

  const folder = t.testdir({})
  cpSync('dist', join(folder, 'dist'), { recursive: true })
  rmSync(join(folder, removed), { recursive: true })
  cpSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const files = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })
  const importers = files.filter(
    (name) => name.endsWith('.js') && /['"][./]+simulator\//.test(readFileSync(join(folder, 'dist', name), 'utf8')),
  )
  t.strictSame(importers, ['program/cli.js'], 'only the command line names its entry')

  for (const args of [['demo'], ['demo', '--agents', '3'], ['simulate', '--layout', 'v4']]) {
    const missing = await runCli(folder, args)
    t.equal(missing.code, 1)
    t.match(missing.err, /^the simulated cluster is not included in this installation.*npm run demo/)
  }
  t.match((await runCli(folder, ['routes'])).out, /^METHOD +PATH/)
  const start = await runCli(folder, ['start', '--config', join(folder, 'missing.yaml')])
  t.equal(start.code, 2)
  t.match(start.err, /^missing\.yaml: cannot be read/, 'the server is loaded without it')
})

t.test('an installation without the tools misses only their commands', async (t) => {
  const folder = t.testdir({})
  cpSync('dist', join(folder, 'dist'), { recursive: true })
  for (const name of ['tools', 'mcp', 'reference']) rmSync(join(folder, 'dist', name), { recursive: true })
  cpSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  for (const name of ['doctor', 'problems', 'top', 'explain', 'purge', 'drain', 'undrain', 'routes', 'openapi']) {
    const missing = await runCli(folder, [name])
    t.equal(missing.code, 1, name)
    t.match(missing.err, /^the tools of operators are not included in this installation/, name)
  }
  const checked = await runCli(folder, ['check', '--config', join(folder, 'missing.yaml')])
  t.match(checked.err, /missing\.yaml: cannot be read/)
})
