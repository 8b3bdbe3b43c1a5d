pub struct Resolution {
    pub path: String,
    pub content: Vec<u8>,
}
pub enum Class {
    X,
}
pub fn classify() {}
