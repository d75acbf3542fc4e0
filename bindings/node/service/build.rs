//! Makes the linker accept Node's functions as undefined symbols; Node provides them.

fn main() {
    napi_build::setup();
}
