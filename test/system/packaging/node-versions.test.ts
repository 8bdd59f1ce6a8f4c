import { execFile } from 'node:child_process'
import t from 'tap'

const { node: version } = process.versions

function runOn(...parameters: string[]): Promise<{ code: number; output: string }> {
  const call = ['--import=./test/support/typescript/register.mjs', 'test/support/versions.ts', ...parameters]
  return new Promise((resolve) => {
    execFile(process.execPath, call, (error, output, problems) =>
      resolve({ code: Number(error?.code ?? 0), output: output + problems }),
    )
  })
}

t.test('a script runs with its arguments on each version, and its failure is that of the command', async (t) => {
  t.match(await runOn(version, 'check:framing', '--', '--help'), {
    code: 0,
    output: /npm run check:framing --help[\s\S]*Usage: npm run check:framing[\s\S]*# no version failed/,
  })
  t.match(await runOn(version, 'check:framing', '--', '--wrong'), { code: 1, output: `# failed: Node ${version}` })
  t.match(await runOn('2x', 'check:framing'), { code: 2, output: 'got "2x"' })
  t.match(await runOn(version, 'unknown'), { code: 2, output: 'no script "unknown"' })
})
