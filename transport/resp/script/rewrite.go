package script

import (
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

const (
	// maxNesting bounds how deep expressions and blocks stand in each other: the
	// compiler recurses.
	maxNesting = 500
	// maxItems bounds the items of a table's constructor, as the compiler numbers them.
	maxItems = 20_000
	// maxOperands is how many strings one call joins, each in a register.
	maxOperands = 32
)

// What the rewritten text calls. The names cannot be written in Lua, so that a script can
// neither call nor replace these functions. They reach it as the arguments of the chunk,
// in this order.
const (
	joinName    = " join"    // (a, b, ...): a .. b .. ...
	storeName   = " store"   // (t, k, v): t[k] = v
	tableName   = " table"   // (): {}
	reserveName = " reserve" // (bytes): true, once the memory is granted
	indexName   = " index"   // (k): k, a number in a constructor
	spreadName  = " spread"  // (...): ..., at the end of a constructor
	boundName   = " bound"   // (v, what): v as the number that a loop takes
	restName    = " rest"    // a local that nobody reads

	// These begin the names of the locals of an assignment.
	targetPrefix = " target"
	keyPrefix    = " key"
	valuePrefix  = " value"
)

func helperNames() []string {
	return []string{joinName, storeName, tableName, reserveName, indexName, spreadName, boundName}
}

var errTooDeep = fmt.Errorf("it has more than %d levels", maxNesting)

// rewriter changes a script so that whatever takes memory asks for it.
type rewriter struct {
	depth int
	names int // variables named so far
	err   error
}

// rewrite returns the chunk that takes the helpers as its arguments and runs the script.
func rewrite(script []ast.Stmt) ([]ast.Stmt, error) {
	var r rewriter
	body := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: true}, Stmts: script}
	r.function(body)
	run := &ast.FuncCallExpr{Func: body}
	helpers := &ast.LocalAssignStmt{Names: helperNames(), Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	result := &ast.ReturnStmt{Exprs: []ast.Expr{run}}
	at(body, body, run, helpers, helpers.Exprs[0], result)
	return []ast.Stmt{helpers, result}, r.err
}

// at gives nodes the place of pos.
func at(pos ast.PositionHolder, nodes ...ast.PositionHolder) {
	for _, n := range nodes {
		n.SetLine(max(pos.Line(), 1))
		n.SetLastLine(max(pos.LastLine(), 1))
	}
}

// function rewrites the body of a function, and returns what a closure of it costs. One
// with a variable number of arguments uses them, else the machine would collect them in
// a table.
func (r *rewriter) function(f *ast.FunctionExpr) (cost int) {
	before := r.names
	f.Stmts = r.block(f.Stmts)
	if f.ParList.HasVargs {
		rest := &ast.LocalAssignStmt{Names: []string{restName}, Exprs: []ast.Expr{&ast.Comma3Expr{AdjustRet: true}}}
		at(f, rest, rest.Exprs[0])
		f.Stmts = append([]ast.Stmt{rest}, f.Stmts...)
	}
	return functionCost + upvalueCost*min(r.names-before+len(helperNames()), maxUpvalues)
}

// enter goes one level deeper, and reports whether that may be.
func (r *rewriter) enter() bool {
	if r.depth++; r.depth > maxNesting {
		r.err = errTooDeep
	}
	return r.err == nil
}

func (r *rewriter) leave() { r.depth-- }

func (r *rewriter) block(stmts []ast.Stmt) (list []ast.Stmt) {
	defer r.leave()
	if !r.enter() {
		return nil
	}
	for _, stmt := range stmts {
		list = append(list, r.stmt(stmt)...)
	}
	return list
}

// stmt returns what comes in the place of a statement.
func (r *rewriter) stmt(stmt ast.Stmt) []ast.Stmt {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		return r.local(s)
	case *ast.FuncDefStmt:
		return r.define(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition, s.Stmts = r.expr(s.Condition), r.block(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition, s.Stmts = r.expr(s.Condition), r.block(s.Stmts)
	case *ast.IfStmt:
		s.Condition, s.Then, s.Else = r.expr(s.Condition), r.block(s.Then), r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = r.bound(s.Init, "initial value"), r.bound(s.Limit, "limit"), r.bound(s.Step, "step")
		s.Stmts = r.block(s.Stmts)
	case *ast.GenericForStmt:
		s.Exprs, s.Stmts = r.exprs(s.Exprs), r.block(s.Stmts)
	case *ast.ReturnStmt:
		s.Exprs = r.exprs(s.Exprs)
	case *ast.BreakStmt, *ast.LabelStmt, *ast.GotoStmt:
	default:
		r.err = fmt.Errorf("a statement of an unknown kind: %T", stmt)
	}
	return []ast.Stmt{stmt}
}

// bound returns a bound of a loop, which may be the text of a number.
func (r *rewriter) bound(e ast.Expr, what string) ast.Expr {
	switch e.(type) {
	case nil, *ast.NumberExpr, *ast.UnaryLenOpExpr, *ast.ArithmeticOpExpr:
		return r.expr(e)
	}
	name := &ast.StringExpr{Value: what}
	at(e, name)
	return callOf(e, boundName, r.expr(e), name)
}

// local keeps a function as it is, so that it knows its own name, and reserves its memory
// before.
func (r *rewriter) local(s *ast.LocalAssignStmt) []ast.Stmt {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if f, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			cost := r.function(f)
			return []ast.Stmt{callStmt(f, reserveName, number(f, cost)), s}
		}
	}
	s.Exprs = r.exprs(s.Exprs)
	return []ast.Stmt{s}
}

// define turns function a.b:c() end into the assignment that it stands for.
func (r *rewriter) define(s *ast.FuncDefStmt) []ast.Stmt {
	target := s.Name.Func
	if target == nil {
		name := &ast.StringExpr{Value: s.Name.Method}
		member := &ast.AttrGetExpr{Object: s.Name.Receiver, Key: name}
		at(s, name, member)
		target = member
		s.Func.ParList.Names = append([]string{"self"}, s.Func.ParList.Names...)
	}
	assign := &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{s.Func}}
	at(s.Func, assign)
	return r.assign(assign)
}

// assign stores what goes into tables through calls. Of several targets, all that the
// statement names is evaluated first: the compiler mixes up a, b = b, a.
func (r *rewriter) assign(s *ast.AssignStmt) []ast.Stmt {
	if len(s.Lhs) > 1 || len(s.Rhs) > 1 {
		return []ast.Stmt{r.assignMany(s)}
	}
	if m, ok := s.Lhs[0].(*ast.AttrGetExpr); ok {
		return []ast.Stmt{callStmt(s, storeName, r.expr(m.Object), r.expr(m.Key), r.expr(s.Rhs[0]))}
	}
	switch s.Rhs[0].(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.IdentExpr, *ast.ArithmeticOpExpr:
		s.Rhs = r.exprs(s.Rhs)
		return []ast.Stmt{s}
	}
	return []ast.Stmt{r.assignMany(s)} // the compiler lets a = f(a) overwrite a before the call
}

// assignMany assigns by way of locals.
func (r *rewriter) assignMany(s *ast.AssignStmt) ast.Stmt {
	first, last := &ast.LocalAssignStmt{}, &ast.LocalAssignStmt{}
	do := &ast.DoBlockStmt{Stmts: []ast.Stmt{first, last}}
	for i, lhs := range s.Lhs {
		value := fmt.Sprint(valuePrefix, i)
		last.Names = append(last.Names, value)
		m, ok := lhs.(*ast.AttrGetExpr)
		if !ok {
			set := &ast.AssignStmt{Lhs: []ast.Expr{lhs}, Rhs: []ast.Expr{ident(s, value)}}
			at(s, set)
			do.Stmts = append(do.Stmts, set)
			continue
		}
		target, key := fmt.Sprint(targetPrefix, i), fmt.Sprint(keyPrefix, i)
		first.Names = append(first.Names, target, key)
		first.Exprs = append(first.Exprs, single(r.expr(m.Object)), single(r.expr(m.Key)))
		do.Stmts = append(do.Stmts, callStmt(s, storeName, ident(s, target), ident(s, key), ident(s, value)))
	}
	last.Exprs = r.exprs(s.Rhs)
	if len(first.Names) == 0 {
		do.Stmts = do.Stmts[1:]
	}
	at(s, first, last, do)
	return do
}

func (r *rewriter) exprs(list []ast.Expr) []ast.Expr {
	for i := range list {
		list[i] = r.expr(list[i])
	}
	return list
}

// expr returns what comes in the place of an expression, which may be none.
func (r *rewriter) expr(expr ast.Expr) ast.Expr {
	if expr == nil {
		return nil
	}
	defer r.leave()
	if !r.enter() {
		return expr
	}
	switch e := expr.(type) {
	case *ast.StringConcatOpExpr:
		return r.join(e)
	case *ast.TableExpr:
		return r.table(e)
	case *ast.FunctionExpr:
		return granted(e, r.function(e), e)
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.FuncCallExpr:
		e.Func, e.Receiver, e.Args = r.expr(e.Func), r.expr(e.Receiver), r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.Comma3Expr:
	case *ast.IdentExpr:
		r.names++
	default:
		r.err = fmt.Errorf("an expression of an unknown kind: %T", expr)
	}
	return expr
}

// join turns a .. b .. c into one call.
func (r *rewriter) join(e *ast.StringConcatOpExpr) ast.Expr {
	var operands []ast.Expr
	var rest ast.Expr = e
	for c, ok := e, true; ok; c, ok = rest.(*ast.StringConcatOpExpr) {
		operands = append(operands, r.expr(c.Lhs))
		rest = c.Rhs
	}
	operands = append(operands, r.expr(rest))
	for len(operands) > maxOperands {
		n := len(operands) - maxOperands
		operands = append(operands[:n:n], callOf(e, joinName, operands[n:]...))
	}
	return callOf(e, joinName, operands...)
}

// table asks for what a constructor costs before it is carried out.
func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	if len(e.Fields) == 0 {
		return callOf(e, tableName)
	}
	if len(e.Fields) > maxItems {
		r.err = fmt.Errorf("a table has more than %d items", maxItems)
	}
	cost := tableCost + growthCost
	for i, f := range e.Fields {
		f.Key, f.Value = r.expr(f.Key), r.expr(f.Value)
		if f.Key == nil {
			cost += itemCost
			if i == len(e.Fields)-1 && multiple(f.Value) {
				f.Value = spread(f.Value)
			}
			continue
		}
		cost += keyCost
		if _, named := f.Key.(*ast.StringExpr); !named {
			f.Key = single(callOf(e, indexName, f.Key))
		}
	}
	return granted(e, cost, e)
}

// multiple reports whether an expression can have more than one value.
func multiple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

// single keeps the first value of an expression only.
func single(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}

func spread(values ast.Expr) ast.Expr {
	c := &ast.FuncCallExpr{Func: ident(values, spreadName), Args: []ast.Expr{values}}
	at(values, c)
	return c
}

// callOf is a call of a helper, each argument being one value.
func callOf(pos ast.PositionHolder, helper string, args ...ast.Expr) ast.Expr {
	for _, arg := range args {
		single(arg)
	}
	c := &ast.FuncCallExpr{Func: ident(pos, helper), Args: args, AdjustRet: true}
	at(pos, c)
	return c
}

func callStmt(pos ast.PositionHolder, helper string, args ...ast.Expr) ast.Stmt {
	s := &ast.FuncCallStmt{Expr: callOf(pos, helper, args...)}
	at(pos, s)
	return s
}

// granted is e, once bytes of memory are granted.
func granted(pos ast.PositionHolder, bytes int, e ast.Expr) ast.Expr {
	and := &ast.LogicalOpExpr{Operator: "and", Lhs: callOf(pos, reserveName, number(pos, bytes)), Rhs: e}
	at(pos, and)
	return and
}

func ident(pos ast.PositionHolder, name string) ast.Expr {
	e := &ast.IdentExpr{Value: name}
	at(pos, e)
	return e
}

func number(pos ast.PositionHolder, n int) ast.Expr {
	e := &ast.NumberExpr{Value: strconv.Itoa(n)}
	at(pos, e)
	return e
}
