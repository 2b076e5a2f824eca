/** The command line: which commands and flags there are, what their help says, and what becomes of their results. */
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from './CliError.js'
import { describe, notDone } from './CliError.js'
import type { Context, Result } from './commands/Context.js'
import { homeOf } from './commands/Context.js'
import type { CleanFlags } from './commands/clean.js'
import type { ConformanceFlags } from './commands/conformance.js'
import type { Attended } from './commands/execution/execution.js'
import { nextActions, withoutValues } from './commands/hints/nextActions.js'
import type { PauseFlags } from './commands/pause.js'
import type { PlanFlags } from './commands/execution/planFlags.js'
import type { PruneFlags } from './commands/prune.js'
import type { ResumeFlags } from './commands/execution/resumeRun.js'
import type { RunFlags } from './commands/run.js'
import type { RunsFlags } from './commands/runs.js'
import type { ShowFlags } from './commands/show.js'
import { ExitCode, ofError } from './ExitCode.js'
import { misuse, understood } from './misuse.js'
import type { Hint } from './report/Hint.js'
import { linesOf } from './report/Hint.js'
import { cliErrorJson, printed } from './report/runJson.js'
import * as Output from './terminal/Output.js'
import * as Screen from './terminal/Screen.js'

/** The flags that every command has. */
interface CommonFlags {
  readonly home?: string
  readonly json?: boolean
}

/** What a command does, once its words have been understood. */
type Action = (context: Context) => Promise<Result>

/** What the command uses of its process: a test may give other streams, and another folder. */
export type Host = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd' | 'exit'>

/** Does what the command line says. Gives the exit code; the process ends when all output is written. */
export const main = async (words: ReadonlyArray<string>, version: string, host: Host = process): Promise<ExitCode> => {
  let code: ExitCode = ExitCode.done
  const program = programOf(host, version, async (flags, action, ending) => {
    code = await perform(host, words, flags, action)
    if (ending === 'at once') await Output.endWith(host, code)
  })
  try {
    await program.parseAsync(understood(program, words), { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? ExitCode.done : misused(host, program, words, error)
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
    tell(screenOf(host, false), ['this is a bug in dogear:', ...trace.split('\n')])
    return ExitCode.bug
  }
}

/** Prints nothing more where commander has already shown its help. */
const misused = (host: Host, program: Command, words: ReadonlyArray<string>, error: CommanderError): ExitCode => {
  const json = asksForJson(words)
  return error.code === 'commander.help' && !json
    ? ExitCode.wrongUse
    : failed(screenOf(host, json), json, misuse(host, program, words, error))
}

/** Words that make no sense as a whole may still say this. */
const asksForJson = (words: ReadonlyArray<string>): boolean => {
  const end = words.indexOf('--')
  const flags = end === -1 ? words : words.slice(0, end)
  return flags.some(
    (word, index) =>
      word === '--json' || word === '--output=json' || (word === '--output' && flags[index + 1] === 'json')
  )
}

const perform = async (
  host: Host,
  words: ReadonlyArray<string>,
  flags: CommonFlags,
  action: Action
): Promise<ExitCode> => {
  const json = flags.json === true
  const screen = screenOf(host, json)
  const { stdin, stderr, env } = host
  const folder = host.cwd()
  const home = homeOf(flags.home, env, folder)
  const result = E.isLeft(home)
    ? home
    : await action({
        words,
        screen,
        json,
        stdin,
        interactive: stdin.isTTY && stderr.isTTY,
        inherited: env,
        folder,
        home: home.right
      }).catch(shortage)
  if (E.isRight(result)) return result.right
  const typed = { words: withoutValues(words), folder, home: E.isRight(home) ? home.right : join(folder, '.dogear') }
  return failed(screen, json, result.left, nextActions(typed, result.left))
}

/** Commands load on demand, and the process may have no descriptor left for the file. */
const shortage = (error: Error): Promise<Result> =>
  Output.isShortOfFiles(error)
    ? Promise.resolve(
        E.left(
          notDone({
            _tag: 'ReadFailed',
            where: error.path ?? 'a file of dogear',
            operation: error.syscall ?? 'open',
            code: error.code,
            cause: error
          })
        )
      )
    : Promise.reject(error)

const screenOf = ({ stdout, stderr, env }: Host, json: boolean): Screen.Screen =>
  Screen.make({ stdout, stderr, environment: env }, json ? 'stderr' : 'stdout')

const tell = (screen: Screen.Screen, [first = '', ...more]: ReadonlyArray<string>): void =>
  [`${screen.style.red('dogear:')} ${first}`, ...more].forEach(screen.line)

const failed = (screen: Screen.Screen, json: boolean, error: CliError, next: ReadonlyArray<Hint> = []): ExitCode => {
  tell(screen, [...describe(error), ...linesOf(next, screen.style)])
  if (json) screen.out(printed(cliErrorJson(error, next)))
  return ofError(error)
}

/** With signals handled, and somebody to ask: for commands that run steps. */
const attending = async (
  context: Context,
  verbose: boolean,
  body: (context: Attended) => Promise<Result>
): Promise<Result> => {
  const [{ abortOnSignals }, Prompt, { attended, SIGNALS }] = await Promise.all([
    import('../adapters/node/index.js'),
    import('./terminal/Prompt.js'),
    import('./commands/execution/execution.js')
  ])
  const signals = abortOnSignals({ signals: SIGNALS })
  const prompt = Prompt.make(context.screen, context.stdin, signals.interrupt.signal)
  return attended(context, verbose, { signals, prompt }, body)
}

/** `at once`: the process does not wait for what somebody else's code left under way in it. */
type Perform = (flags: CommonFlags, action: Action, ending?: 'at once') => Promise<void>

const programOf = ({ stdout, stderr }: Host, version: string, perform: Perform): Command => {
  const program = new Command('dogear')
    .description('Runs a workflow step by step, records each step, and resumes at the right one.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .option('--home <folder>', 'where the state is (default: DOGEAR_HOME, else .dogear)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: () => undefined
    })
    .exitOverride()
    .addHelpText('after', OVERVIEW)
  const common = (): CommonFlags => program.opts<CommonFlags>()
  addRun(program, common, perform)
  addResume(program, common, perform)
  addPlan(program, common, perform)
  addPoll(program, common, perform)
  addPause(program, common, perform)
  addCancel(program, common, perform)
  addRuns(program.command('runs'), common, perform).summary('list runs')
  addRuns(program.command('list', { hidden: true }).command('runs'), common, perform)
  addShow(program, common, perform)
  addClean(program, common, perform)
  addVerify(program, common, perform)
  addPrune(program, common, perform)
  addSchema(program, common, perform)
  addConformance(program, common, perform)
  return program
}

type Common = () => CommonFlags

const addRun = (program: Command, common: Common, perform: Perform): void => {
  interface Flags extends RunFlags, CommonFlags {
    readonly verbose?: boolean
  }
  const command = program
    .command('run')
    .summary('run a workflow file')
    .description('Runs a workflow file. An unfinished earlier run of it is found and offered.')
    .argument('<file>', 'the workflow, in YAML')
    .option('--id <id>', 'the id of the new run (default: a UUID)')
    .option('--input <name=value>', 'a variable of the run, over the input in the file; repeat for more', collect)
    .option('--resume', 'resume an unfinished earlier run, if there is one, without asking')
    .option('--from-step <step>', 'resume an earlier run from this step on, with its input; --input replaces values')
    .option('--restart-wave <wave>', 'resume an earlier run, and run all groups of this wave again')
    .option('--run <id>', 'with these two: which earlier run (default: the newest of the workflow)')
  withMergeFlags(command)
    .option('-y, --yes', 'answer yes to every question')
    .option('-v, --verbose', 'print more')
    .option('--json', 'print the result as JSON; what steps print goes to standard error')
    .addHelpText('after', exampleOf('dogear run release.yml --input channel=beta'))
    .action((file: string, flags: Flags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { runCommand } = await import('./commands/run.js')
        return attending(context, flags.verbose === true, (attended) => runCommand(attended, file, flags))
      })
    )
}

/** To commander the two flags are one, of which the last counts. */
const withMergeFlags = (command: Command): Command => {
  const given = new Set<string>()
  const give = (flag: string) => (): void => {
    if (given.add(flag).size > 1) command.error("--merge and --no-merge can't be used together. Give one of them")
  }
  return command
    .option('--merge', 'when it has completed: merge its worktree, and remove that')
    .option('--no-merge', 'keep it, without asking')
    .on('option:merge', give('merge'))
    .on('option:no-merge', give('no-merge'))
}

const withPlanFlags = (command: Command): Command =>
  command
    .option('--force', 'run everything again, from the first step')
    .option('--from-step <step>', 'take all earlier steps as done, and run from this one on')
    .option('--restart-wave <wave>', 'run all groups of this wave again, and what comes after it')
    .option('--input <name=value>', 'with --from-step or --force: replace an input value from there on', collect)
    .option('--confirm <step=answer>', 'answer the question about a step: again, keep, done or done:OUTPUT', collect)
    .option(
      '--changes <policy>',
      'edits of the workflow: strict (none), completed (default: none of done steps), ignore'
    )
    .option('--reopen', 'go on although the run was cancelled')

const addResume = (program: Command, common: Common, perform: Perform): void => {
  interface Flags extends ResumeFlags, CommonFlags {
    readonly verbose?: boolean
  }
  const command = program
    .command('resume')
    .summary('resume a run')
    .description(
      'Resumes a run: skips completed steps and runs the others. Without an id: the run that paused last, else the only unfinished one.'
    )
    .argument('[id]', 'the run, or the beginning of its id (4 characters or more)')
  withPlanFlags(command)
    .option('--plan <hash>', 'only if the plan is the one that "dogear plan" showed')
    .option('--take-over', 'supersede a process that may be dead; asks first')
  withMergeFlags(command)
    .option('-y, --yes', 'answer yes to every question')
    .option('-v, --verbose', 'print more')
    .option('--json', 'print the result as JSON; what steps print goes to standard error')
    .addHelpText('after', exampleOf('dogear resume 3f2a81c0 --from-step build'))
    .action((id: string | undefined, flags: Flags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { resumeCommand } = await import('./commands/resume.js')
        return attending(context, flags.verbose === true, (attended) => resumeCommand(attended, id, flags))
      })
    )
}

const addPlan = (program: Command, common: Common, perform: Perform): void => {
  const command = program
    .command('plan')
    .summary('show what resume would do, and why')
    .description('Shows what resume would do, and why. Runs nothing and writes nothing.')
    .argument('[id]', 'the run, or the beginning of its id (4 characters or more)')
  withPlanFlags(command)
    .option('--json', 'print the plan as JSON')
    .addHelpText('after', exampleOf('dogear plan 3f2a81c0 --force'))
    .action((id: string | undefined, flags: PlanFlags & CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { planCommand } = await import('./commands/plan.js')
        return planCommand(context, id, flags)
      })
    )
}

const addPause = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('pause')
    .summary('let a run stop at the next safe point')
    .description(
      'Asks the process that runs a run to pause it: what it runs now ends, nothing more is started. Continue it with "dogear resume".'
    )
    .argument('<id>', 'the run, or the beginning of its id (4 characters or more)')
    .option('--no-commit', 'leave what is not committed in its worktree as it is')
    .option('--json', 'print it as JSON')
    .addHelpText('after', exampleOf('dogear pause 3f2a81c0'))
    .action((id: string, flags: PauseFlags & CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { pauseCommand } = await import('./commands/pause.js')
        return pauseCommand(context, id, flags)
      })
    )
}

const addCancel = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('cancel')
    .summary('end a run for good at the next safe point')
    .description(
      'Cancels a run: what it runs now ends, nothing more is started, and a resume is refused. Submitted jobs are not cancelled.'
    )
    .argument('<id>', 'the run, or the beginning of its id (4 characters or more)')
    .option('--json', 'print it as JSON')
    .addHelpText('after', exampleOf('dogear cancel 3f2a81c0'))
    .action((id: string, flags: CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { cancelCommand } = await import('./commands/cancel.js')
        return cancelCommand(context, id)
      })
    )
}

const addPoll = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('poll')
    .summary('poll the jobs that a run waits for')
    .description('Polls the jobs that a run waits for, and records their outputs. Submits and runs nothing.')
    .argument('[id]', 'the run, or the beginning of its id (4 characters or more)')
    .option('--json', 'print it as JSON')
    .addHelpText('after', exampleOf('dogear poll 3f2a81c0'))
    .action((id: string | undefined, flags: CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { pollCommand } = await import('./commands/poll.js')
        return attending(context, false, (attended) => pollCommand(attended, id))
      })
    )
}

const addRuns = (command: Command, common: Common, perform: Perform): Command =>
  command
    .description('Lists runs, newest first. Also: dogear list runs')
    .option(
      '--status <status>',
      'only these: queued, running, completed, failed, interrupted, paused, pending or cancelled'
    )
    .option('--output <form>', 'table or json', 'table')
    .option('--json', 'the same as --output json')
    .addHelpText('after', exampleOf('dogear runs --status failed'))
    .action((flags: RunsFlags & CommonFlags) =>
      perform({ ...common(), ...flags, json: flags.json === true || flags.output === 'json' }, async (context) => {
        const { runsCommand } = await import('./commands/runs.js')
        return runsCommand(context, flags)
      })
    )

const addShow = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('show')
    .summary('show one run: its steps, errors and variables')
    .description('Shows one run: its state, steps, attempts, errors and variables.')
    .argument('<id>', 'the run, or the beginning of its id (4 characters or more)')
    .option('--history', 'also what happened, revision by revision')
    .option('--json', 'print it as JSON')
    .addHelpText('after', exampleOf('dogear show 3f2a81c0 --history'))
    .action((id: string, flags: ShowFlags & CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { showCommand } = await import('./commands/show.js')
        return showCommand(context, id, flags)
      })
    )
}

const addClean = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('clean')
    .summary('delete the workspaces of runs, never their state')
    .description('Deletes the workspace of a run; without an id, those of all completed runs. State is kept.')
    .argument('[id]', 'the run, or the beginning of its id (4 characters or more)')
    .option('--all', 'also those of unfinished runs, which can not be resumed then')
    .option('-y, --yes', 'answer yes to every question')
    .option('--json', 'print it as JSON')
    .addHelpText('after', exampleOf('dogear clean 3f2a81c0'))
    .action((id: string | undefined, flags: CleanFlags & CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { cleanCommand } = await import('./commands/clean.js')
        return attending(context, false, (attended) => cleanCommand(attended, id, flags))
      })
    )
}

const addVerify = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('verify')
    .summary('check the stored state, and predict a resume')
    .description(
      'Checks that the stored state is intact, and lists what a resume would refuse, ask or run again, for one run or all.'
    )
    .argument('[id]', 'the run, or the beginning of its id (4 characters or more)')
    .option('--json', 'print it as JSON')
    .addHelpText('after', exampleOf('dogear verify'))
    .action((id: string | undefined, flags: CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { verifyCommand } = await import('./commands/verify.js')
        return verifyCommand(context, id)
      })
    )
}

const addPrune = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('prune')
    .summary('delete the state of runs that are over')
    .description(
      'Deletes the state of runs that are over: completed and cancelled ones, unless --status says otherwise.'
    )
    .option('--keep <n>', 'so many of each workflow stay, the newest')
    .option('--older-than <duration>', 'those stay that ended no longer ago: 12h, 30d')
    .option(
      '--status <status>',
      'only these: completed, cancelled, failed, interrupted, paused, pending or queued; repeat for more',
      collect
    )
    .option('--dry-run', 'list them, and delete none')
    .option('-y, --yes', 'answer yes to every question')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', exampleOf('dogear prune --keep 10 --older-than 30d --dry-run'))
    .action((flags: PruneFlags & CommonFlags) =>
      perform({ ...common(), ...flags }, async (context) => {
        const { pruneCommand } = await import('./commands/prune.js')
        return attending(context, false, (attended) => pruneCommand(attended, flags))
      })
    )
}

const addSchema = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('schema')
    .summary('print the JSON Schema of workflow files')
    .description('Prints the JSON Schema of workflow files, with which editors complete and check them.')
    .addHelpText('after', exampleOf('dogear schema > workflow.schema.json'))
    .action(() =>
      perform(common(), async (context) => {
        const { schemaCommand } = await import('./commands/schema.js')
        return schemaCommand(context)
      })
    )
}

const addConformance = (program: Command, common: Common, perform: Perform): void => {
  program
    .command('conformance')
    .summary('test a checkpoint store of your own')
    .description('Tests a store of your own against the laws of every checkpoint store.')
    .argument('[module]', 'the module that exports the spec of the store: .mjs, .js; .ts from Node 22.18 on')
    .option('--export <name>', 'the export that is the spec, or a function that returns it (default: spec)')
    .option('--level <level>', 'only these cases: core, capability or stress; repeat for more', collect)
    .option('--only <id>', 'only this case (CS-FENCE-03) or family of cases (CS-FENCE); repeat for more', collect)
    .option('--limit <duration>', 'how long a case may take (default: 30s); a stress case four times as long')
    .option('--list', 'list the cases, and run none')
    .option('--tap', 'print the report as TAP')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', exampleOf('dogear conformance spec.mjs --level core'))
    .action((module: string | undefined, flags: ConformanceFlags & CommonFlags) =>
      perform(
        { ...common(), ...flags },
        async (context) => {
          const { conformanceCommand } = await import('./commands/conformance.js')
          return conformanceCommand(context, module, flags)
        },
        'at once'
      )
    )
}

const collect = (value: string, before: ReadonlyArray<string> | undefined): ReadonlyArray<string> => [
  ...(before ?? []),
  value
]

const exampleOf = (line: string): string => `\nExample:\n  ${line}`

const OVERVIEW = `
A workflow file:
  name: release
  steps:
    - name: version
      shell: node -p "require('./package.json').version"
      capture: version                 # its output becomes $version
    - wave: checks                     # groups run in parallel
      groups:
        unit: { shell: npm test }
        lint: { shell: npm run lint }
    - run: [npm, publish, --tag, "v\${version}"]
      idempotent: false                # ask before it runs twice

When a step fails: fix the cause or the file, then run "dogear resume".

Exit codes:
  0 completed, or nothing left to do    4 refused, nothing was changed
  1 a step, or a case, failed           5 state could not be read or written
  2 wrong use, or a bad workflow file   6 fenced: another process owns the run
  3 no such run                         70 a bug in dogear
                                        75 pending: jobs have not ended, or paused
  129, 130, 131, 143 stopped by SIGHUP, Ctrl+C, Ctrl+\\, SIGTERM`
