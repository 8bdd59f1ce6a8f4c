import t from 'tap'
import { checkList } from '../../../src/http/body-contents.ts'
import { checkXml } from '../../../src/http/uploaded-xml.ts'
import { measureBestRun } from '../../support/event-loop.ts'

const xml = (text: string) => checkXml(Buffer.from(text))

t.test('comments are accepted as by the manager', async (t) => {
  for (const good of [
    '<!-- a -- b --><a></a>',
    '<!-- x ---><a></a>',
    '<!----><a></a>',
    '<!-- <?php -- ?> --><a></a>',
    '<a><![CDATA[<!--]]><b></b><!-- -- --></a>',
    '<a><!-- <![CDATA[ --></a>',
    '<a><!-- ]]> --><![CDATA[ --> ]]></a>',
  ]) {
    await t.resolves(xml(good), good)
  }
  for (const bad of [
    '<!--><a></a>',
    '<a></a><!-- --',
    '<!-- --><?php ?><a></a>',
    '<a><![CDATA[<!-- ]]><b> --></a>',
    '<!-- <!DOCTYPE a> --><a></a>',
  ]) {
    await t.rejects(xml(bad), { code: 703 }, bad)
  }
})

t.test('a token is recognised across the border of two slices', async (t) => {
  const slice = 16 * 1024
  for (let before = slice - 20; before < slice + 2; before++) {
    const text = '.'.repeat(before)
    await t.resolves(xml(`<a>${text}&quot;&#x10FFFF;& &x;&</a>`), `behind ${before}`)
    await t.rejects(xml(`<a>${text}&#0000000;</a>`), { code: 703 }, `behind ${before}`)
    await t.resolves(xml(`<a>${text}<!-- -- ---><![CDATA[<!-- & ]]></a>`), `behind ${before}`)
    await t.rejects(xml(`<a>${text}<![CDATA[<!DOCTYPE a>]]></a>`), { code: 703 }, `behind ${before}`)
  }
})

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20

t.test('a large file does not block the event loop', async (t) => {
  const size = 10 * 1024 * 1024
  const filled = (unit: string) => unit.repeat(size / Buffer.byteLength(unit))
  const slow: Readonly<Record<string, readonly [check: typeof checkXml, text: () => string]>> = {
    ampersands: [checkXml, () => `<a>${filled('&')}</a>`],
    elements: [checkXml, () => `<a>${filled('<b></b>')}</a>`],
    comments: [checkXml, () => `<a>${filled('<!-- - -->')}</a>`],
    'empty comments': [checkXml, () => `<a>${filled('<!---->')}</a>`],
    'one comment of dashes': [checkXml, () => `<a></a><!--${filled('-')}-->`],
    'one comment of other characters': [checkXml, () => `<a></a><!--${filled('é')}-->`],
    'one CDATA of brackets': [checkXml, () => `<a><![CDATA[${filled(']')}]]></a>`],
    'one text': [checkXml, () => `<a>${filled('x')}</a>`],
    'one text of line ends': [checkXml, () => `<a>${filled('\r\n')}</a>`],
    'one text of entities': [checkXml, () => `<a>${filled('&lt;')}</a>`],
    'white space in front': [checkXml, () => `${filled(' ')}<a></a>`],
    'begins of a DOCTYPE': [checkXml, () => `<a><![CDATA[${filled('<!DOCTYP')}]]></a>`],
    'one attribute': [checkXml, () => `<a b="${filled('x')}"></a>`],
    'attributes of greatest size': [checkXml, () => filled(`<b c="${'x'.repeat(60_000)}"/>`)],
    'many attributes': [checkXml, () => `<a ${filled('b=""\n')}></a>`],
    'one name': [checkXml, () => `<${filled('x')}></a>`],
    'open elements': [checkXml, () => filled('<a>')],
    lines: [checkList, () => filled('a:b\n')],
    'empty lines': [checkList, () => filled('\n')],
    'one line': [checkList, () => `a:${filled('x')}`],
    'one line without a value': [checkList, () => filled('x')],
    'one line of spaces': [checkList, () => filled(' ')],
    'one line of colons': [checkList, () => filled(':')],
    'one line of words': [checkList, () => filled('a ')],
  }
  for (const [what, [check, text]] of Object.entries(slow)) {
    const bytes = Buffer.from(text())
    const longest = await measureBestRun(() => check(bytes).catch(() => undefined), MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${what}: ${longest.toFixed(1)} ms`)
  }
})

t.test('an error in a list names the number of its line', async (t) => {
  await t.rejects(checkList(Buffer.from(`${'a:b\r\n'.repeat(20_000)}c`)), { code: 705, message: /Line 20001: c$/ })
  await t.resolves(checkList(Buffer.from('a:b\n\n  \nc:d')))
  const long = 'x'.repeat(100_000)
  await t.resolves(checkList(Buffer.from(`a:b\n${long}:${long}\n${' '.repeat(100_000)}\nc:d`)), 'long lines')
  for (const bad of [long, `${long}:${long}:`, `:${long}`, `${' '.repeat(100_000)}:${long}`])
    await t.rejects(checkList(Buffer.from(`a:b\n${bad}\nc:d`)), { code: 705, message: /Line 2: / })
})
