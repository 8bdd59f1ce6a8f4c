import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { result } from './program.ts'

const suggestions = async (...words: string[]): Promise<string[]> => {
  const { code, out } = await result(t, ['complete', '--', ...words])
  t.equal(code, 0)
  return out
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .map((line) => line.split('\t')[0] ?? '')
}

t.test('the shell completes commands, options and their values', async (t) => {
  const commands = await suggestions('')
  for (const name of ['start', 'demo', 'simulate', 'check', 'user', 'audit']) t.ok(commands.includes(name), name)
  t.strictSame(await suggestions('si'), ['simulate'])
  t.ok((await suggestions('user', '')).includes('add'), 'commands of a group')
  t.ok((await suggestions('check', '--')).includes('--connect'), 'options')
  t.strictSame(await suggestions('demo', '--layout', ''), ['v3', 'v4'], 'values of an option')
})

const shells = [
  { shell: 'bash', check: ['bash', '-n'], registered: /complete .*manager-edge/ },
  { shell: 'zsh', check: ['zsh', '-n'], registered: /#compdef manager-edge/ },
  { shell: 'fish', check: ['fish', '--no-execute'], registered: /complete -c manager-edge/ },
]

t.test('completion prints a script for bash, zsh and fish that the shell can parse', async (t) => {
  const folder = t.testdir({})
  for (const { shell, check, registered } of shells) {
    const { code, out } = await result(t, ['completion', shell])
    t.equal(code, 0, shell)
    t.match(out, registered)
    const file = join(folder, shell)
    writeFileSync(file, out)
    const [command = '', ...args] = check
    if (existsSync(`/usr/bin/${command}`))
      t.doesNotThrow(() => execFileSync(command, [...args, file]), `${shell} parses it`)
    else t.comment(`${shell} is not installed: the syntax of its script is not checked`)
  }
  const unknown = await result(t, ['completion', 'tcsh'])
  t.equal(unknown.code, 2)
  t.match(unknown.err, 'zsh, bash, fish')
})
