import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import t from 'tap'
import { result } from './program.ts'

t.test('man prints a manual page of all commands that man can show without a warning', async (t) => {
  const { code, out } = await result(t, ['man'])
  t.equal(code, 0)
  const { version } = JSON.parse(execFileSync('cat', ['package.json'], { encoding: 'utf8' }))
  t.match(out, `.TH MANAGER-EDGE 1 "" "manager-edge ${version}"`)
  for (const path of [
    'start',
    'demo',
    'simulate',
    'check',
    'doctor',
    'user add <name>',
    'audit verify <files>...',
    'completion',
  ])
    t.match(out, `\n.SS ${path}`, path)
  t.match(out, '\\-\\-config <file>', 'options')
  if (!existsSync('/usr/bin/groff')) return t.comment('groff is not installed: the page is not formatted')
  const { stdout, stderr } = spawnSync('groff', ['-man', '-ww', '-Tascii'], { input: out, encoding: 'utf8' })
  t.equal(stderr, '', 'no warning')
  t.match(stdout, 'runs the edge with a configuration file'.replace('runs', 'Run'))
})
