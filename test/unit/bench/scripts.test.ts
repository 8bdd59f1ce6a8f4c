import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { nodeArguments } from './node-arguments.ts'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
/** The scripts that are TypeScript files: their names, and the files without `npm run build` in front. */
const files = Object.entries(scripts).flatMap(([name, command]) => {
  const file = /register\.mjs ((?:test|packages)\/\S+\.ts)$/.exec(command)?.[1]
  return file === undefined ? [] : [[name, file] as const]
})

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(t: Test, file: string, ...args: readonly string[]): Promise<Outcome> {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [...nodeArguments(file), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}

t.ok(files.length >= 10, `${files.length} scripts were found`)
for (const [name, file] of files) {
  t.test(`npm run ${name} prints its options`, async (t) => {
    const help = await run(t, file, '--help')
    t.equal(help.code, 0, help.err)
    t.match(help.out, `Usage: npm run ${name} -- `)
    t.match(help.out, /^ {2}--help +print this text$/m)
  })
}

t.test('a reader that ends before the table does, as `head`, is no error', async (t) => {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, nodeArguments('test/support/sizes.ts'), {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  child.stdout.destroy()
  let err = ''
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const [code] = await once(child, 'close')
  t.same({ code, err }, { code: 0, err: '' })
})

// One function reads the options of all scripts.
t.test('an unknown option and a wrong value are refused in one line, and nothing is started', async (t) => {
  for (const [args, message] of [
    [['--no-such-option'], "unknown option '--no-such-option'"],
    [['--rounds', 'many'], '--rounds needs a number from 0, got "many"'],
    [['--than', 'src'], '--than needs a folder with cli.js, got "src"'],
    [['--only', '('], '--only needs a regular expression, got "("'],
    [['--rounds'], "option '--rounds <value>' argument missing"],
    [['quick'], "unexpected argument 'quick'"],
  ] as const) {
    const { code, out, err } = await run(t, 'test/bench/hits.ts', ...args)
    t.equal(code, 2, args.join(' '))
    t.equal(out, '')
    t.equal(err, `npm run bench: ${message}; "npm run bench -- --help" lists the options\n`)
  }
})
