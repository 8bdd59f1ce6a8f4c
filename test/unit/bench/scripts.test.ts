import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
/** The scripts that are TypeScript files: their names, and the files without `npm run build` in front. */
const files = Object.entries(scripts).flatMap(([name, command]) => {
  const file = /register\.mjs (test\/\S+\.ts)$/.exec(command)?.[1]
  return file === undefined ? [] : [[name, file] as const]
})

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(t: Test, file: string, ...args: readonly string[]): Promise<Outcome> {
  const { NODE_OPTIONS: _, ...env } = process.env
  const register = '--import=./test/support/typescript/register.mjs'
  const child = spawn(process.execPath, [register, file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
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
  t.test(`npm run ${name} prints its options, and refuses others in one line`, async (t) => {
    const help = await run(t, file, '--help')
    t.equal(help.code, 0, help.err)
    t.match(help.out, `Usage: npm run ${name} -- `)
    t.match(help.out, /^ {2}--help +print this text$/m)
    const unknown = await run(t, file, '--no-such-option')
    t.equal(unknown.code, 2)
    t.equal(unknown.out, '', 'nothing was started')
    t.match(unknown.err, /^npm run .*: unknown option '--no-such-option'; "npm run .* -- --help" lists the options\n$/)
  })
}

t.test('a wrong value of an option is refused in one line', async (t) => {
  for (const [args, message] of [
    [['--cpu', 'many'], '--cpu needs a number from 0, got "many"'],
    [['--only', '('], '--only needs a regular expression, got "("'],
    [['--cpu'], "option '--cpu <value>' argument missing"],
    [['quick'], "unexpected argument 'quick'"],
  ] as const) {
    const { code, err } = await run(t, 'test/bench/hits.ts', ...args)
    t.equal(code, 2, args.join(' '))
    t.equal(err, `npm run bench: ${message}; "npm run bench -- --help" lists the options\n`)
  }
})
