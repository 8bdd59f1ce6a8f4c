/** What plugins see of the edge stays small. */
import t from 'tap'
import ts from 'typescript'

const MAX_MEMBERS = 12
const MAX_FUNCTIONS = 40

t.test('the view of plugins has few members, and few functions in all', async (t) => {
  const file = 'src/status/edge-view.ts'
  const options = { strict: true, noEmit: true, allowImportingTsExtensions: true, skipLibCheck: true }
  const module = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }
  const program = ts.createProgram([file], { ...options, ...module, target: ts.ScriptTarget.ES2023 })
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const view = source?.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === 'EdgeView')
  if (view === undefined) throw new Error(`${file} has no EdgeView`)
  const functionsOf = (type: ts.Type, path: string): string[] =>
    checker.getPropertiesOfType(type).flatMap((property) => {
      const name = `${path}${property.name}`
      const member = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(property, view))
      if (member.getCallSignatures().length > 0) return [name]
      return (member.flags & ts.TypeFlags.Object) === 0 ? [] : functionsOf(member, `${name}.`)
    })
  const type = checker.getTypeAtLocation(view)
  const members = checker.getPropertiesOfType(type).map(({ name }) => name)
  const functions = functionsOf(type, '')
  t.ok(members.includes('events') && functions.includes('cache.index.list'), 'the members are found')
  t.ok(members.length <= MAX_MEMBERS, `${members.length} members: ${members}`)
  t.ok(functions.length <= MAX_FUNCTIONS, `${functions.length} functions: ${functions}`)
})
